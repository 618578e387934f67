// SPDX-License-Identifier: Apache-2.0
//
// patient — a program that does in its tasks what the doctor looks for; and some of it elsewhere, where it does no harm.

#include <weft/weft.hpp>

#include <cstdio>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>

thread_local int visits = 0;
std::mutex table_lock;
int table = 0;

[[gnu::noinline]] int count_visit() {
  asm volatile("" ::: "memory");
  return ++visits;
}
[[gnu::noinline]] void write_table() {
  const std::lock_guard hold(table_lock);
  ++table;
}
[[gnu::noinline]] void doze() { usleep(1); }
[[gnu::noinline]] void read_settings() {
  char letter = 0;
  const int file = open("/dev/null", O_RDONLY);
  (void)!read(file, &letter, 1);
  close(file);
}
// Never from a task.
[[gnu::noinline]] void only_main_syncs() { sync(); }
[[gnu::noinline]] int go_deep(int n) {
  volatile char room[1024];
  room[0] = static_cast<char>(n);
  return n == 0 ? room[0] : go_deep(n - 1) + room[0];
}

int main() {
  only_main_syncs();
  const int depth = weft::run([] {
    weft::spawn([] { write_table(); }).join();
    weft::spawn([] { doze(); }).join();
    const auto [a, b] = weft::join([] { return count_visit(); },
                                   [] {
                                     read_settings();
                                     return 1;
                                   });
    return weft::spawn([] { return go_deep(20); }).join() + a + b;
  });
  std::printf("%d\n", depth);
  return 0;
}
