// SPDX-License-Identifier: Apache-2.0
//
// A program for debuggers to look at, with nothing but what is installed: tasks that wait in the user's code, in two contexts. When all of
// them do, it calls look_here(); with --abort it leaves a core file instead.

#include <weft/weft.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

extern "C" __attribute__((noinline)) void look_here() { asm volatile("" : : : "memory"); }

__attribute__((noinline)) static void wait_for_page(int depth) {
  if (depth > 0) {
    wait_for_page(depth - 1);
  } else {
    weft::this_fiber::sleep_for(std::chrono::hours(1));
  }
  asm volatile("" : : : "memory");
}
__attribute__((noinline)) static void read_index() {
  wait_for_page(2);
  asm volatile("" : : : "memory");
}

int main(int argc, char** argv) {
  weft::runtime all({.workers = 2});
  weft::concurrent_context disk(all, "disk");
  std::vector<weft::handle<void>> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(all.spawn({.name = "indexer"}, [] { read_index(); }));
  tasks.push_back(disk.spawn([] { wait_for_page(0); }));
  // Until they wait, all of them.
  for (;;) {
    const std::string text = weft::dump();
    if (text.find("3 tasks: ") != std::string::npos &&
        text.find("in 'disk', blocked on sleep") != std::string::npos)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (argc > 1 && std::strcmp(argv[1], "--abort") == 0) std::abort();
  look_here();
  for (auto& each : tasks) each.request_cancel();
  for (auto& each : tasks) {
    try {
      each.join();
    } catch (const std::exception&) {
    }
  }
}
