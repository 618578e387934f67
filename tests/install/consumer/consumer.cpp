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

int main() {
  const bool good = *half(4) == 2 && half(3).error() == weft::errc::closed &&
                    std::string(weft::error_category().name()) == "weft";
  std::printf("consumer of weft %s: %s\n", WEFT_VERSION_STRING, good ? "ok" : "not ok");
  return good ? 0 : 1;
}
