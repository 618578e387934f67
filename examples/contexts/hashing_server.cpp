// SPDX-License-Identifier: Apache-2.0
//
// hashing_server — work that takes long has workers of its own, so that the rest answers at once.
//
// A server that checks passwords: a hash is meant to take long. In the context of the requests a few logins would keep all others
// waiting; in a context of its own they wait for each other alone.
#include <weft/weft.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

// What bcrypt would be: some milliseconds of computing that cannot be cut short.
std::uint64_t slow_hash(std::uint64_t password) {
  const auto end = clock_type::now() + std::chrono::milliseconds(20);
  std::uint64_t hash = password;
  while (clock_type::now() < end) {
    for (int i = 0; i < 1000; ++i) hash = hash * 6364136223846793005U + 1442695040888963407U;
  }
  return hash | 1U;
}

struct answers {
  std::vector<std::chrono::microseconds> pages;  // how late each came
  int logins = 0;
};

// Requests come while logins are under way.
answers serve(weft::execution_context& hashing) {
  constexpr int logins = 16;
  constexpr int pages = 100;
  answers all;
  std::vector<weft::handle<std::uint64_t>> checks;
  for (int i = 0; i < logins; ++i)
    checks.push_back(hashing.spawn([i] { return slow_hash(static_cast<std::uint64_t>(i)); }));
  for (int i = 0; i < pages; ++i) {
    const auto due = clock_type::now() + std::chrono::milliseconds(1);
    weft::this_fiber::sleep_until(due);
    weft::spawn([] {}).join();
    all.pages.push_back(std::chrono::duration_cast<std::chrono::microseconds>(clock_type::now() - due));
  }
  for (auto& each : checks) all.logins += each.join() != 0 ? 1 : 0;
  std::sort(all.pages.begin(), all.pages.end());
  return all;
}

void print(const char* where, const answers& all) {
  std::printf("hashing %s: %d logins; a page was late by %lld us at the median, %lld us at worst\n", where,
              all.logins, static_cast<long long>(all.pages[all.pages.size() / 2].count()),
              static_cast<long long>(all.pages.back().count()));
}

}  // namespace

int main() {
  const weft::runtime_options one_worker{.workers = 1};
  const auto main = [] {
    const answers together = serve(*weft::execution_context::current());
    print("among the requests  ", together);

    weft::parallel_context hashing("hashing", {.workers = 2, .niceness = 10});
    const answers apart = serve(hashing);
    print("in its own context  ", apart);

    const bool is_right = together.logins == 16 && apart.logins == 16;
    return is_right ? 0 : 1;
  };
  return weft::run(main, one_worker);
}
