// SPDX-License-Identifier: Apache-2.0
//
// fiber_local — a variable of which each task has its own.
//
//     weft::fiber_local<std::vector<int>> scratch;      // of static duration, usually
//     scratch->push_back(1);                            // this task's, made when it is first used
//
// What thread_local is to threads: a thread_local belongs to whatever thread a task happens to be on.
#pragma once

#include <weft/config.hpp>

#include <cstdint>

namespace weft {

namespace detail {

/// Where a task keeps one of its values.
struct local_slot {
  void* value = nullptr;
  void (*destroy)(void* value) noexcept = nullptr;
};

/// A number for a variable, never used again.
[[nodiscard]] WEFT_EXPORT std::uint32_t new_local_number() noexcept;
/// The place of a variable in the running task, or on a plain thread in the thread. Good until the next one is asked for.
///
/// Throws: std::bad_alloc.
[[nodiscard]] WEFT_EXPORT local_slot& local_slot_of(std::uint32_t number);

}  // namespace detail

/// A variable with a value for each task, and for each plain thread. The value is made, as `T()`, when the task first uses it,
/// and destroyed when the task ends, after the variable's own end too.
///
/// To be of static duration: its number is never used again, and each task has a place for all numbers up to the largest that it
/// uses.
///
/// The second half of a join is a task of its own if another worker runs it, and part of its caller if not: neither relies on
/// what it finds here.
///
/// Thread safety: any.
template <class T>
class fiber_local {
 public:
  /// A variable that no task has used yet.
  fiber_local() noexcept : number_(detail::new_local_number()) {}
  fiber_local(const fiber_local&) = delete;
  fiber_local& operator=(const fiber_local&) = delete;
  ~fiber_local() = default;

  /// The running task's own.
  ///
  /// Throws: std::bad_alloc, and what T's constructor throws, when it is first used.
  [[nodiscard]] T& get() const {
    if (void* const value = detail::local_slot_of(number_).value) return *static_cast<T*>(value);
    T* const made = new T();
    detail::local_slot_of(number_) = {made, [](void* value) noexcept { delete static_cast<T*>(value); }};
    return *made;
  }
  /// As get().
  [[nodiscard]] T& operator*() const { return get(); }
  /// As get().
  [[nodiscard]] T* operator->() const { return &get(); }

 private:
  const std::uint32_t number_;
};

}  // namespace weft
