// SPDX-License-Identifier: Apache-2.0
//
// nursery — a block that does not end before the tasks that were spawned in it.
//
//     std::vector<page> pages(urls.size());
//     weft::nursery([&](weft::nursery& n) {
//       for (std::size_t i = 0; i < urls.size(); ++i)
//         n.spawn([&, i] { pages[i] = fetch(urls[i]); });
//     });                                           // here all of them have ended
//
// Children may refer to the locals of whoever opened the nursery: they are gone before those are. A child costs less than
// one with a handle, since nobody can ask for it alone.
#pragma once

#include <weft/cancelled.hpp>
#include <weft/detail/nursery_access.hpp>
#include <weft/detail/task_body.hpp>
#include <weft/runtime.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

namespace weft {

/// Children, and the wait for all of them. See the top of this file.
///
/// If a child fails, the others are asked to stop, and the nursery rethrows the first failure when all have ended. The same
/// holds if the body throws. If the task that opened the nursery is asked to stop while it waits, so are the children.
class nursery {
 public:
  /// Calls `body(nursery&)`, then waits for all children. Each runs in the execution context of whoever spawns it; those that a plain
  /// thread spawns, in the default runtime.
  ///
  /// Cancellation point: yes, while children are alive; it still waits for them, and throws then.
  /// Throws: the first failure of a child or of the body; std::system_error where the default runtime cannot be started.
  template <std::invocable<nursery&> Body>
  explicit nursery(Body&& body) : nursery(nullptr, body) {}

  /// The same on any thread; the children run in the given runtime.
  template <std::invocable<nursery&> Body>
  nursery(runtime& in, Body&& body) : nursery(detail::context_of(in), body) {}

  nursery(const nursery&) = delete;
  nursery& operator=(const nursery&) = delete;
  ~nursery() = default;

  /// Runs the function as a child. What it returns is not kept.
  ///
  /// Thread safety:      the body, children of this nursery, and threads that the body waits for.
  /// Cancellation point: no. May let children run first if very many of them wait.
  /// Throws:             std::system_error without memory, and what copying the function throws.
  template <std::invocable F>
  void spawn(F&& function, detail::source_site site = detail::source_site::current()) {
    using closure = std::decay_t<F>;
    using body = detail::task_body<closure, std::invoke_result_t<closure>>;
    if constexpr (detail::is_closure_of_words<closure>) {
      const detail::closure_copy<closure> words(function);
      detail::spawn_child_words(state_, body::code, detail::packed_site(site), words.get());
    } else {
      spawn_with(nullptr, std::forward<F>(function), site);
    }
  }

  /// The same for a child with a name, a stack or a priority. It costs an allocation.
  ///
  /// Throws: std::invalid_argument for a stack that cannot be, too.
  template <std::invocable F>
  void spawn(const spawn_options& how, F&& function,
             detail::source_site site = detail::source_site::current()) {
    spawn_with(&how, std::forward<F>(function), site);
  }

  /// Asks all children to stop, also those that are still to come. Does not wait for that; the nursery then ends without an
  /// error, unless a child fails.
  void request_cancel() noexcept { detail::cancel_nursery(state_); }

 private:
  template <class F>
  void spawn_with(const spawn_options* how, F&& function, detail::source_site site) {
    using closure = std::decay_t<F>;
    using body = detail::task_body<closure, std::invoke_result_t<closure>>;
    detail::task_record& made = detail::new_child(state_, body::code, detail::packed_site(site));
    try {
      if (how != nullptr) detail::set_options(made, *how);
      body::put(detail::body_of(made), std::forward<F>(function));
    } catch (...) {
      detail::discard_task(made);
      throw;
    }
    detail::begin_child(state_, made);
  }

  template <class Body>
  nursery(detail::context_core* in, Body& body) {
    detail::open_nursery(state_, in);
    bool was_cancelled = false;
    try {
      body(*this);
    } catch (const cancelled&) {
      was_cancelled = true;
    } catch (...) {
      detail::fail_nursery(state_, std::current_exception());
    }
    detail::close_nursery(state_, was_cancelled);
  }

  detail::nursery_state state_;
};

}  // namespace weft
