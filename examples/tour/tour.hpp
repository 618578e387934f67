// SPDX-License-Identifier: Apache-2.0
//
// tour — what the stops of the tour share. Each stop shows one thing that weft does, live, with figures.
#pragma once

#include <chrono>
#include <cstdio>

namespace tour {

struct options {
  bool brief = false;  // a tenth of the work, for a quick look and for tests
};

/// Each of these prints what it does and what came of it. Returns whether it went as promised.
bool show_switch(const options& how);
bool show_stacks(const options& how);
bool show_overflow(const options& how);
bool show_model(const options& how);
bool show_spawn(const options& how);
bool show_fibers(const options& how);
bool show_join(const options& how);
bool show_contexts(const options& how);

/// Seconds that f took.
template <class F>
double seconds(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline void heading(const char* title) { std::printf("\n%s\n", title); }

}  // namespace tour
