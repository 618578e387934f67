// SPDX-License-Identifier: Apache-2.0
//
// model — what a file of models includes.
//
// MODEL(Suite, Name) { ... } is a test that runs its body under all schedules up to a bound and many random ones, and
// passes if none fails. MODEL_FINDS(Suite, Name, "message") is the opposite: a fault is planted in it, and the
// checker must find it, with a message that contains the text. The body sees `world` (model/world.hpp).
//
// A failing model prints a schedule; WEFT_MODEL_SCHEDULE=... repeats it, with a trace.
#pragma once

#include "model/explore.hpp"
#include "model/platform.hpp"
#include "model/world.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace weft::model {

/// A model, as the program knows it.
struct registered {
  const char* suite;
  const char* name;
  execution::body body;
  const char* must_find = nullptr;  // null: must be clean
};

/// All models of the program.
[[nodiscard]] std::vector<registered>& all_models();

/// The effort that this build and this run can afford (WEFT_TEST_LONG=1: much).
[[nodiscard]] effort affordable_effort();

/// The one checker of the process.
[[nodiscard]] execution& the_execution();

/// For the macros: adds a model at start-up.
struct registration {
  registration(const char* suite, const char* name, void (*body)(world&), const char* must_find) {
    all_models().push_back({suite, name, body, must_find});
  }
};

/// For the macros: runs the test of one model.
void run_test(const char* suite, const char* name);

}  // namespace weft::model

#define WEFT_MODEL(suite, name, must_find)                                                                  \
  static void model_##suite##_##name(::weft::model::world& world);                                          \
  static const ::weft::model::registration registered_##suite##_##name(#suite, #name,                       \
                                                                       &model_##suite##_##name, must_find); \
  TEST(suite, name) { ::weft::model::run_test(#suite, #name); }                                             \
  static void model_##suite##_##name([[maybe_unused]] ::weft::model::world& world)

#define MODEL(suite, name) WEFT_MODEL(suite, name, nullptr)
#define MODEL_FINDS(suite, name, message) WEFT_MODEL(suite, name, message)
