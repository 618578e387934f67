// SPDX-License-Identifier: Apache-2.0
//
// running_task — which task a worker runs, as its own thread says in a signal handler when another asks (sys/thread_calls).
#pragma once

#include "base/source_site.hpp"
#include "base/text.hpp"
#include "sys/thread_calls.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::impl {

struct running_task {
  bool is_known = false;  ///< a task runs there, and the worker was not about to change to another
  std::uint64_t id = 0;
  source_site spawned_at{};
  char name[48]{};  ///< cut
  std::size_t name_length = 0;

  /// What the thread is asked. The answer is good as soon as it has come.
  [[nodiscard]] thread_question question() noexcept { return {&answer, this}; }

  /// As append_task().
  void append_to(text_line& line) const noexcept;

 private:
  static void answer(void* raw) noexcept;
};

}  // namespace weft::impl
