// SPDX-License-Identifier: Apache-2.0
//
// suspend — the one primitive beneath every wait: leave the worker until somebody calls.
//
// For those who build waiting of their own: a binding to another event loop, a language's runtime, a primitive that
// weft does not have. Everybody else wants something from weft that waits by itself.
#pragma once

#include <weft/config.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft {

namespace detail {
struct task_record;
}  // namespace detail

/// Names one suspension of one task, and ends it. A copy may be kept after it has ended: resume() then does nothing.
///
/// Thread safety: any thread. The runtime of the task must live.
class resumer {
 public:
  resumer() noexcept = default;

  /// Lets the task go on. Returns whether it was this call that did; of many, exactly one is told so.
  ///
  /// Ordering: what was done before is visible to the task when it goes on.
  // NOLINTNEXTLINE(modernize-use-nodiscard): it is called for what it does
  WEFT_EXPORT bool resume() const noexcept;

  /// For suspend().
  resumer(detail::task_record& task, std::uint64_t epoch) noexcept : task_(&task), epoch_(epoch) {}

 private:
  detail::task_record* task_ = nullptr;
  std::uint64_t epoch_ = 0;
};

namespace detail {
WEFT_EXPORT void suspend(void (*publish)(void* with, resumer by), void* with, const char* reason);
}  // namespace detail

/// Suspends the running task until its resumer is used. `publish(resumer)` hands that to whoever will use it, and runs
/// before the task has left its stack: it must not wait, and may be overtaken by the resumption.
///
/// The function must not wait; if it does, that ends the process with a message.
///
/// The reason is what dumps and deadlock reports say the task waits for; the text must live for ever.
///
/// Thread safety:      tasks only.
/// Cancellation point: yes. A resumer may then be used in vain.
template <class Publish>
void suspend(const char* reason, Publish&& publish) {
  using function = std::remove_reference_t<Publish>;
  detail::suspend([](void* with, resumer by) { (*static_cast<function*>(with))(by); },
                  const_cast<void*>(static_cast<const void*>(&publish)), reason);
}

}  // namespace weft
