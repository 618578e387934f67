// SPDX-License-Identifier: Apache-2.0
//
// Loads a shared library with a cure in it at run time, and runs it: weft inside a plug-in.

#include <cstdio>
#include <dlfcn.h>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
    return 2;
  }
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread here
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 2;
  }
  auto* const cure = reinterpret_cast<int (*)()>(::dlsym(library, "weft_run_cure"));
  const int outcome = cure != nullptr ? cure() : 2;
  // The library stays loaded (-z nodelete), since its fault handler does: calling into it still works.
  ::dlclose(library);
  return cure != nullptr && outcome == 0 ? cure() : outcome;
}
