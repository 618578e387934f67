// SPDX-License-Identifier: Apache-2.0
//
// Seventh stop: fork-join at about the cost of a call, beside a plain call and rayon in the same run.

#include "tour.hpp"

#include <weft/join.hpp>
#include <weft/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

namespace tour {
namespace {

std::int64_t plain_fib(int n) {
  if (n < 2) return n;
  return plain_fib(n - 1) + plain_fib(n - 2);
}

std::int64_t fib(int n) {
  if (n < 2) return n;
  const auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
  return a + b;
}

// fib(n) takes 2 fib(n + 1) - 1 calls.
constexpr int usual = 33;
constexpr double calls = 11'405'773;
constexpr std::int64_t right = 3'524'578;

template <class Fib>
double ns_a_call(Fib&& of, bool& good) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const volatile int n = usual;
    std::int64_t value = 0;
    best = std::min(best, seconds([&] { value = of(n); }) / calls * 1e9);
    good = good && value == right;
  }
  return best;
}

double weft_ns(std::uint32_t workers, bool& good) {
  return weft::run([&] { return ns_a_call(fib, good); }, {.workers = workers});
}

#ifdef WEFT_TOUR_RAYON
// What rayon's program prints: {"value": 7.1, ...}; 0 where it does not.
double rayon_ns(std::uint32_t threads) {
  struct close {
    void operator()(std::FILE* pipe) const { ::pclose(pipe); }
  };
  const std::string command = WEFT_TOUR_RAYON " --workload A --variant plain --quick --threads " +
                              std::to_string(threads) + " 2>/dev/null";
  const std::unique_ptr<std::FILE, close> output(::popen(command.c_str(), "r"));
  char line[256] = "";
  if (output == nullptr || std::fgets(line, sizeof line, output.get()) == nullptr) return 0;
  const std::string text = line;
  const std::size_t at = text.find("\"value\":");
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + 8, nullptr);
}
#endif

}  // namespace

bool show_join(const options& /*how*/) {
  heading("7. Fork-join: fib(33), each of its 11 million calls forks in two");
  bool good = true;
  const std::uint32_t all = std::max(1U, std::thread::hardware_concurrency());
  const double plain = ns_a_call(plain_fib, good);
  const double one = weft_ns(1, good);
  const double many = weft_ns(all, good);
  std::printf("   a plain call             %6.2f ns a call\n", plain);
  std::printf("   weft::join, 1 worker     %6.2f ns a call\n", one);
  std::printf("   weft::join, %u workers    %6.2f ns a call\n", all, many);
#ifdef WEFT_TOUR_RAYON
  if (const double theirs = rayon_ns(1); theirs > 0) {
    std::printf("   rayon::join, 1 thread    %6.2f ns a call; weft takes %.2f of that\n", theirs,
                one / theirs);
    std::printf("   rayon::join, %u threads   %6.2f ns a call\n", all, rayon_ns(all));
    return good;
  }
#endif
  std::printf("   (rayon is not here: nothing to compare with; ./do run installs it)\n");
  return good;
}

}  // namespace tour
