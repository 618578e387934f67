// SPDX-License-Identifier: Apache-2.0
//
// The tour: the main things weft does, live.

#include "tour.hpp"

#include <weft/version.hpp>

#include <cstring>

int main(int argc, char** argv) {
  tour::options how;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--brief") != 0) {
      std::fprintf(stderr, "the tour takes --brief (a tenth of the work) or nothing, not '%s'\n", argv[i]);
      return 2;
    }
    how.brief = true;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("weft %s\n", WEFT_VERSION_STRING);
  bool good = tour::show_switch(how);
  good = tour::show_stacks(how) && good;
  good = tour::show_overflow(how) && good;
  good = tour::show_model(how) && good;
  good = tour::show_spawn(how) && good;
  good = tour::show_fibers(how) && good;
  good = tour::show_join(how) && good;
  good = tour::show_contexts(how) && good;
  std::printf("\n%s\n", good ? "End of the tour. docs/guide/ goes on from here."
                             : "The tour did not go as promised: see above.");
  return good ? 0 : 1;
}
