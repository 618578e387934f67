// SPDX-License-Identifier: Apache-2.0
//
// task_context — values that a task passes on to all that it spawns: a trace id, a tenant, a logger.
//
//     const weft::context_key<std::string> trace_id;         // of static duration, usually
//
//     weft::with_context(trace_id, request.id, [&] {
//       weft::nursery([&](weft::nursery& n) {
//         n.spawn([] { log(*trace_id.get(), "in a child"); });
//       });
//     });
//
// A value does not change, and lives as long as a task that has it.
#pragma once

#include <weft/config.hpp>
#include <weft/detail/at_end.hpp>
#include <weft/detail/atomics.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace weft {

namespace detail {

/// A value among those around it. Owned by all tasks that have it, or one further in.
struct context_node {
  std_atomics::atomic<std::uint32_t> owners{1};
  context_node* outer = nullptr;
  const void* key = nullptr;
  const void* frame = nullptr;      // of the block it is for
  const void* opened_by = nullptr;  // the task whose block that is; null: a thread's
  std::uint64_t life = 0;           // and which of those that have had that record
  void (*const destroy)(context_node& self) noexcept;

 protected:
  explicit context_node(void (*end)(context_node& self) noexcept) noexcept : destroy(end) {}
};

template <class T>
struct context_value : context_node {
  template <class... Args>
  explicit context_value(Args&&... args)
      : context_node([](context_node& self) noexcept { delete static_cast<context_value*>(&self); }),
        value(std::forward<Args>(args)...) {}
  T value;
};

/// The innermost value of the running task, or on a plain thread of the thread; null where there is none.
[[nodiscard]] WEFT_EXPORT const context_node* current_context() noexcept;
/// From here on it is the innermost. Takes it over.
WEFT_EXPORT void enter_context(context_node& made) noexcept;
/// The innermost goes.
WEFT_EXPORT void leave_context() noexcept;

}  // namespace detail

/// Names a value of a context. Two keys are different, whatever their types.
template <class T>
class context_key {
 public:
  constexpr context_key() noexcept = default;
  context_key(const context_key&) = delete;
  context_key& operator=(const context_key&) = delete;
  ~context_key() = default;

  /// The value that the running task has, its own or inherited; null if it has none. Good while the task, or the block of
  /// with_context() that gave it the value, lasts.
  [[nodiscard]] const T* get() const noexcept {
    for (const detail::context_node* at = detail::current_context(); at != nullptr; at = at->outer) {
      if (at->key == this) return &static_cast<const detail::context_value<T>*>(at)->value;
    }
    return nullptr;
  }

 private:
  char unused_ = 0;  // so that two keys have two addresses
};

/// Calls the function, in which and in whose children the key has this value. Returns what it returns.
///
/// Thread safety: any task; any thread, whose spawns into a runtime pass it on.
// Not to be inlined: what is joined in the block has a frame further in than this one, and what joins around it has not.
template <class T, class Value, class F>
[[gnu::noinline]] decltype(auto) with_context(const context_key<T>& key, Value&& value, F&& function) {
  auto* const made = new detail::context_value<T>(std::forward<Value>(value));
  made->key = &key;
  made->frame = __builtin_frame_address(0);
  detail::enter_context(*made);
  const detail::at_end leave([] { detail::leave_context(); });
  return std::forward<F>(function)();
}

}  // namespace weft
