// SPDX-License-Identifier: Apache-2.0
//
// handle — a task that was spawned, in the hands of whoever wants to know how it comes out.
#pragma once

#include <weft/detail/assert.hpp>
#include <weft/detail/at_end.hpp>
#include <weft/detail/task_body.hpp>
#include <weft/error.hpp>
#include <weft/task_info.hpp>

#include <exception>
#include <system_error>
#include <utility>

namespace weft {

/// Joins a task, gives its value or rethrows what it threw, and asks it to stop.
///
/// A handle that is dropped lets its task go on by itself. If that task fails, nobody can look at the failure any more,
/// and it is reported; it is never silent.
///
/// The runtime must outlive the handle: what the task has returned lies there. One that is destroyed too early ends the process, and
/// names the task.
///
/// Example:
///     weft::handle<int> answer = weft::spawn([] { return 6 * 7; });
///     std::cout << answer.join();
///
/// Thread safety: as for any value; the task may be anywhere.
template <class R>
class [[nodiscard]] handle {
 public:
  /// A handle to nothing.
  handle() noexcept = default;
  /// Takes the task over; the other handle is empty then.
  handle(handle&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  /// The same; the task that was held before is let go, as by detach().
  handle& operator=(handle&& other) noexcept {
    handle(std::move(other)).swap(*this);
    return *this;
  }
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  /// Lets the task go on by itself, as detach().
  ~handle() {
    if (task_ != nullptr) detail::drop_task(*task_);
  }

  /// Waits until the task has ended, and gives its value. The handle is empty then.
  ///
  /// Cancellation point: yes; the handle keeps the task if the wait is cancelled.
  /// Throws: what the task threw; std::system_error(errc::cancelled) if it stopped because it was asked to.
  R join() {
    WEFT_CHECK(task_ != nullptr, "an empty handle was joined");
    const detail::task_outcome outcome = detail::await_end(*task_);
    detail::task_record& ended = *std::exchange(task_, nullptr);
    const detail::at_end release([&ended] { detail::release_task(ended); });
    void* const body = detail::body_of(ended);
    switch (outcome) {
      case detail::task_outcome::value: break;
      case detail::task_outcome::error: {
        const std::exception_ptr error = std::move(detail::error_in(body));
        std::destroy_at(&detail::error_in(body));
        std::rethrow_exception(error);
      }
      default: throw std::system_error(make_error_code(errc::cancelled));
    }
    return detail::take_result<R>(body);
  }

  /// Whether join() would return at once.
  [[nodiscard]] bool is_done() const noexcept {
    WEFT_CHECK(task_ != nullptr, "an empty handle was asked");
    return detail::has_ended(*task_);
  }

  /// What the task is doing, or was a moment ago.
  [[nodiscard]] task_state state() const noexcept {
    WEFT_CHECK(task_ != nullptr, "an empty handle was asked");
    return detail::state_of(*task_);
  }

  /// Asks the task to stop: its next wait throws weft::cancelled. Does not wait for that.
  void request_cancel() noexcept {
    if (task_ != nullptr) detail::request_cancel(*task_);
  }

  /// Lets the task go on by itself.
  void detach() noexcept {
    if (task_ != nullptr) detail::drop_task(*std::exchange(task_, nullptr));
  }

  /// Whether it is the handle of a task.
  [[nodiscard]] explicit operator bool() const noexcept { return task_ != nullptr; }

  /// The task's number, as this_fiber::id() gives it inside.
  [[nodiscard]] std::uint64_t id() const noexcept {
    WEFT_CHECK(task_ != nullptr, "an empty handle was asked");
    return detail::id_of(*task_);
  }

  /// Exchanges the tasks of two handles.
  void swap(handle& other) noexcept { std::swap(task_, other.task_); }

  /// For the functions that spawn.
  explicit handle(detail::task_record& task) noexcept : task_(&task) {}

 private:
  detail::task_record* task_ = nullptr;
};

}  // namespace weft
