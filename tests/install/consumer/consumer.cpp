// SPDX-License-Identifier: Apache-2.0
//
// A user's program: sees nothing but what is installed.

#include <weft/weft.hpp>

#include <cstdio>
#include <string>

static weft::result<int> half(int number) {
  if (number % 2 != 0) return weft::errc::closed;
  return number / 2;
}

// Queues are templates, but what they ask of the kernel is in the library.
static bool steals() {
  weft::deque<int> mine;
  mine.push(7);
  const weft::steal_result<int> stolen = mine.steal();
  return stolen && *stolen == 7;
}

int main() {
  const bool good = steals() && *half(4) == 2 && half(3).error() == weft::errc::closed &&
                    std::string(weft::error_category().name()) == "weft";
  std::printf("consumer of weft %s: %s\n", WEFT_VERSION_STRING, good ? "ok" : "not ok");
  return good ? 0 : 1;
}
