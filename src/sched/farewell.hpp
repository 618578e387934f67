// SPDX-License-Identifier: Apache-2.0
//
// farewell — where whoever waits for the last task is told: of one execution context, or of all of a runtime.
//
// Thread safety: any thread; one at a time waits: a thread, or a task that belongs to something else.
#pragma once

#include "event/parker.hpp"
#include "sched/task.hpp"
#include "sched/visitors.hpp"

namespace weft::impl {

/// What ends.
class farewell_host {
 public:
  farewell_host(const farewell_host&) = delete;
  farewell_host& operator=(const farewell_host&) = delete;
  virtual ~farewell_host() = default;

  /// Turns away whoever comes from outside, passes a heavy barrier, and looks whether all tasks have ended. [CE-last]
  [[nodiscard]] virtual bool is_over_now() noexcept = 0;
  /// Lets a thread wait until the parker has its token, or the deadline has passed: whether it has.
  [[nodiscard]] virtual bool wait_on_thread(parker& mine, time_point deadline) noexcept = 0;

 protected:
  farewell_host() noexcept = default;
};

class farewell {
 public:
  using visitors = basic_visitors<default_platform, task>;
  using visit = visitors::visit;

  explicit farewell(barrier_kind barriers) noexcept : visitors_(barriers) {}

  /// By whoever finds that all have ended, or has made it possible.
  void tell() noexcept;

  /// Returns once all tasks have ended, or at the deadline: whether they have.
  [[nodiscard]] bool await(farewell_host& of, time_point deadline) noexcept;

  /// Who is there for a moment without being one of its own.
  [[nodiscard]] visitors& guests() noexcept { return visitors_; }
  /// Returns when nobody is. [PO-visit]
  void await_guests() const noexcept;

 private:
  [[nodiscard]] bool await_once(farewell_host& of, time_point deadline) noexcept;
  [[nodiscard]] bool await_in_task(farewell_host& of, task& self, time_point deadline) noexcept;

  parker told_;
  visitors visitors_;
};

}  // namespace weft::impl
