// SPDX-License-Identifier: Apache-2.0
//
// quota_probe — says how many workers a runtime has that was not told how many; and, each time that it reads a line, waits until there are
// as many as that line says, while it works.

#include <weft/weft.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

int main() {
  weft::runtime one;
  weft::execution_context& first = *one.spawn([] { return weft::execution_context::current(); }).join();
  std::printf("workers %u\n", first.workers());
  std::fflush(stdout);
  std::atomic<bool> stop{false};
  auto busy = one.spawn([&stop] {
    while (!stop.load()) weft::this_fiber::sleep_for(std::chrono::milliseconds(1));
  });
  for (std::string line; std::getline(std::cin, line);) {
    const auto wanted = static_cast<std::uint32_t>(std::stoul(line));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (first.workers() != wanted && std::chrono::steady_clock::now() < deadline)
      one.spawn([] { weft::this_fiber::sleep_for(std::chrono::milliseconds(10)); }).join();
    std::printf("workers %u\n", first.workers());
    std::fflush(stdout);
  }
  stop.store(true);
  busy.join();
  return 0;
}
