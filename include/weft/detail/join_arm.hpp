// SPDX-License-Identifier: Apache-2.0
//
// join_arm — the second half of a join, in its caller's frame, and how the two halves come together again.
//
// While the first half runs, the arm lies in the deque of a worker. The caller takes it back by its identity: if the
// newest in the deque of the worker it is on now is this very arm, it is popped and run. Otherwise something was pushed
// above it, somebody has taken it, or the caller has moved: then it is waited for as any child. An arm that is alive has an
// address of its own, so nothing else need be remembered.
//
// Thread safety: as the functions say.
// Invariants:   JA1  the caller does not leave its frame before the arm was taken back or is done
#pragma once

#include <weft/detail/at_end.hpp>
#include <weft/detail/completion.hpp>
#include <weft/detail/race_identity.hpp>
#include <weft/detail/runnable.hpp>
#include <weft/detail/task_body.hpp>
#include <weft/detail/worker_front.hpp>

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace weft::detail {

/// The task that waits for an arm, of which nothing is known here but the address.
struct alignas(8) join_waiter {};

/// What the library knows of an arm.
struct alignas(8) join_job {
  using run_function = void (*)(join_job&, const std::exception_ptr* failed) noexcept;

  join_job(run_function function, const void* at) noexcept : run(function), frame(at) {}

  // By whoever has taken it: leaves the result in the arm. With a failure: leaves that instead, and runs nothing.
  const run_function run;
  // In the caller's stack, which tells who the caller is. (The arm itself may lie elsewhere: AddressSanitizer moves
  // locals to the heap.)
  const void* const frame;
  basic_completion<std_atomics, join_waiter> end;
};

/// Waits until an arm that somebody has taken, or that lies in another's deque, is done. No cancellation point.
[[gnu::cold]] WEFT_EXPORT void await_join(join_job& arm) noexcept;
/// Runs the function on another stack, as part of the running task.
WEFT_EXPORT void call_on_another_stack(void (*function)(void*) noexcept, void* with) noexcept;

template <class F>
using invoked = std::invoke_result_t<F&>;

template <class F>
using kept_of = typename kept_result<invoked<F>>::type;

/// Calls it, and gives something in every case.
template <class F>
kept_of<F> call_and_keep(F& function) {
  if constexpr (std::is_void_v<invoked<F>>) {
    function();
    return {};
  } else if constexpr (std::is_reference_v<invoked<F>>) {
    return std::addressof(function());
  } else {
    return function();
  }
}

/// Turns what was kept into what was returned.
template <class F>
decltype(auto) given(kept_of<F>&& kept) {
  if constexpr (std::is_reference_v<invoked<F>>) {
    return *kept;
  } else {
    return std::forward<kept_of<F>>(kept);
  }
}

template <class F>
using given_type = std::conditional_t<std::is_void_v<invoked<F>>, nothing, invoked<F>>;

template <class First, class Second>
using join_result = std::conditional_t<std::is_void_v<invoked<First>> && std::is_void_v<invoked<Second>>,
                                       void, std::pair<given_type<First>, given_type<Second>>>;

template <class First, class Second>
join_result<First, Second> make_join_result([[maybe_unused]] kept_of<First>&& first,
                                            [[maybe_unused]] kept_of<Second>&& second) {
  if constexpr (!std::is_void_v<join_result<First, Second>>)
    return {given<First>(std::move(first)), given<Second>(std::move(second))};
}

/// One after the other.
template <class First, class Second>
join_result<First, Second> join_in_turn(First& first, Second& second) {
  kept_of<First> a = call_and_keep(first);
  return make_join_result<First, Second>(std::move(a), call_and_keep(second));
}

template <class Second>
class join_arm : public join_job {
  using kept = kept_of<Second>;

 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): what only somebody else needs, who writes it
  join_arm(Second& second, const void* at) noexcept : join_job(&run_taken, at), second_(second) {}
  join_arm(const join_arm&) = delete;
  join_arm& operator=(const join_arm&) = delete;
  ~join_arm() {}

  /// Offers the arm to others. Returns false where there is no memory for that.
  [[nodiscard]] bool push(worker_front& here) noexcept {
    begin_arms(edge());
    const runtime_section in;
    return here.push(word());
  }

  /// Runs the first half, then sees to the arm, which was pushed.
  template <class First>
  join_result<First, Second> join(First& first) {
    kept_of<First> a = run_first(first);
    if (WEFT_LIKELY(join_takes_back && try_take_back()))
      return make_join_result<First, Second>(std::move(a), call_and_keep(second_));
    await_join(*this);
    return make_join_result<First, Second>(std::move(a), take());
  }

 private:
  [[nodiscard]] runnable word() noexcept { return {runnable::kind::join, static_cast<join_job*>(this)}; }
  [[nodiscard]] void* edge() noexcept { return static_cast<join_job*>(this); }
  [[nodiscard]] bool try_take_back() noexcept {
    const runtime_section in;
    return own_front().tasks.pop_if(word());
  }

  template <class First>
  kept_of<First> run_first(First& first) {
    try {
      return call_and_keep(first);
    } catch (...) {
      abandon();
      throw;
    }
  }

  // The first half has thrown: the arm is not begun, or waited for.
  [[gnu::cold, gnu::noinline]] void abandon() noexcept {
    if (try_take_back()) return;
    await_join(*this);
    if (has_failed_) {
      std::destroy_at(&error);
    } else {
      std::destroy_at(&value);
    }
  }

  static void run_taken(join_job& job, const std::exception_ptr* failed) noexcept {
    auto& self = static_cast<join_arm&>(job);
    if (failed != nullptr) {
      new (&self.error) std::exception_ptr(*failed);
      self.has_failed_ = true;
      return;
    }
    try {
      new (&self.value) kept(call_and_keep(self.second_));
      self.has_failed_ = false;
    } catch (...) {
      new (&self.error) std::exception_ptr(std::current_exception());
      self.has_failed_ = true;
    }
  }

  kept take() {
    if (has_failed_) {
      const std::exception_ptr failed = std::move(error);
      std::destroy_at(&error);
      std::rethrow_exception(failed);
    }
    const at_end clear([this] { std::destroy_at(&value); });
    return std::move(value);
  }

  Second& second_;
  // Of what follows nothing is touched unless somebody else runs the arm.
  bool has_failed_;
  union {
    kept value;
    std::exception_ptr error;
  };
};

/// The stack has little room left: the rest of the tree goes on upon another one.
template <class First, class Second>
[[gnu::noinline]] join_result<First, Second> join_on_another_stack(First& first, Second& second);

}  // namespace weft::detail
