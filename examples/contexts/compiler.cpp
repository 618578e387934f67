// SPDX-License-Identifier: Apache-2.0
//
// compiler — one thread for what must stay in order, as many as there are processors for the rest.
//
// A compiler parses and checks on one thread: its tables are not made for several. Then each unit is turned into code by itself, which all
// processors do at the same time.
#include <weft/presets.hpp>
#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

struct unit {
  std::string name;
  std::vector<std::uint64_t> code;
};

// Parsing: symbols of all units go into one table, without a lock.
unit parse(int number, std::unordered_map<std::string, int>& symbols) {
  unit made{.name = "unit" + std::to_string(number), .code = {}};
  symbols.emplace(made.name, number);
  return made;
}

void generate(unit& of) {
  std::uint64_t x = std::hash<std::string>()(of.name);
  for (int i = 0; i < 10'000; ++i) of.code.push_back(x = x * 6364136223846793005U + 1);
}

}  // namespace

int main() {
  constexpr int count = 64;
  const auto main = [] {
    weft::parallel_context codegen("codegen", {.workers = weft::usable_processors()});
    std::unordered_map<std::string, int> symbols;
    std::vector<unit> units(count);

    weft::nursery([&](weft::nursery& n) {
      for (int i = 0; i < count; ++i) {
        unit& made = units[static_cast<std::size_t>(i)];
        made = parse(i, symbols);
        n.spawn({.context = &codegen}, [&made] { generate(made); });  // while the next one is parsed
      }
    });

    std::size_t words = 0;
    for (const unit& each : units) words += each.code.size();
    std::printf("%zu units, %zu symbols, %zu words of code, made by %u workers\n", units.size(),
                symbols.size(), words, codegen.workers());
    return symbols.size() == count && words == std::size_t{count} * 10'000 ? 0 : 1;
  };
  return weft::run(main, {.workers = 1});
}
