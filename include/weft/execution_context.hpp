// SPDX-License-Identifier: Apache-2.0
//
// execution_context — threads of their own for some of the tasks of a runtime, and the rules by which those run.
//
//     weft::parallel_context hashing("hashing", {.workers = 2});     // so that the rest is never kept waiting
//     auto hash = hashing.spawn([&] { return bcrypt(password); });
//     ...
//     hash.join();
//
// A task belongs to one context, and is run by the threads of that context alone, whoever wakes it. What it spawns belongs there as
// well, unless it says otherwise: context.spawn(f), or spawn_options::context. It may go to another by move_to(). Contexts share
// nothing but memory: tasks of different ones run in parallel, and wait for each other as tasks of one do.
//
//     parallel     several threads; tasks run at the same time, and go on upon any of them
//     concurrent   one thread; tasks take turns and never run at the same time, so they need no locks among themselves
//     isolated     one thread for one function, which may block it, run a foreign loop on it, or need it to stay the same
//     custom       whatever threads and order one likes, or another context with something around it: <weft/custom_context.hpp>
//
// Every runtime has one to begin with, a parallel one with the name DEFAULT.
#pragma once

#include <weft/config.hpp>
#include <weft/handle.hpp>
#include <weft/runtime_options.hpp>
#include <weft/spawn.hpp>
#include <weft/spawn_options.hpp>
#include <weft/statistics.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

class runtime;

class execution_context;

namespace detail {
struct runtime_core;
struct context_access;
[[nodiscard]] context_core& core_of(execution_context& of) noexcept;
}  // namespace detail

/// What all contexts have in common.
///
/// A context is made in the runtime of the running task, in a given one, or on a plain thread in the default one, and is destroyed
/// before that.
///
/// Thread safety: any thread; destroyed by a thread, or by a task of another context, which leaves its worker to others meanwhile.
class WEFT_EXPORT execution_context {
 public:
  execution_context(const execution_context&) = delete;
  execution_context& operator=(const execution_context&) = delete;
  /// Asks its tasks to stop unless the options say otherwise, waits for them, and ends its threads.
  virtual ~execution_context();

  /// Runs the function as a task of this context. From anywhere: a thread, a task of any context of any runtime.
  ///
  /// Throws: std::system_error(errc::shut_down) if the context or its runtime ends; as weft::spawn().
  template <std::invocable F>
  [[nodiscard]] handle<detail::task_result<F>> spawn(
      F&& function, detail::source_site site = detail::source_site::current()) {
    return detail::spawn_in(target(), std::forward<F>(function), site);
  }

  /// The same with a name, a stack or a priority.
  template <std::invocable F>
  [[nodiscard]] handle<detail::task_result<F>> spawn(
      const spawn_options& how, F&& function, detail::source_site site = detail::source_site::current()) {
    return detail::spawn_with(target(), &how, std::forward<F>(function), site);
  }

  /// Asks its tasks to stop: those that live now, and all that are still to come.
  void request_cancel() noexcept;

  /// As it was made with; DEFAULT for the first of a runtime.
  [[nodiscard]] std::string_view name() const noexcept;

  /// How many workers it shall have: as many tasks run at the same time, at most, unless some are stuck (see autoscale).
  [[nodiscard]] std::uint32_t workers() const noexcept;
  /// How many threads it has now: workers come when there is work for them.
  [[nodiscard]] std::uint32_t threads() const noexcept;

  /// What it has done so far, and what it has to do.
  [[nodiscard]] context_statistics statistics() const;

  /// That of the running task; null on a plain thread.
  [[nodiscard]] static execution_context* current() noexcept;

 protected:
  friend detail::context_core& detail::core_of(execution_context& of) noexcept;
  friend struct detail::context_access;

  /// Takes over what was started.
  explicit execution_context(detail::context_core& started) noexcept;

  /// Where tasks go that are spawned into it.
  [[nodiscard]] detail::context_core* target() const noexcept { return target_; }

  struct end_core {
    void operator()(detail::context_core* core) const noexcept;
  };
  // NOLINTBEGIN(readability-identifier-naming): for weft's own kinds, and private to all others
  std::unique_ptr<detail::context_core, end_core> core_;
  detail::context_core* target_;
  // NOLINTEND(readability-identifier-naming)
};

/// Several threads; tasks run at the same time, and go on upon any of them.
class WEFT_EXPORT parallel_context final : public execution_context {
 public:
  /// In the runtime of the running task; on a plain thread in the default one.
  ///
  /// Throws: std::system_error if the system has no thread, memory or stack for it, and where the runtime ends (errc::shut_down),
  ///         runs on its caller's thread (errc::single_threaded), or belongs to the parent of this process (errc::forked);
  ///         std::invalid_argument for options that cannot be.
  explicit parallel_context(std::string_view name, const context_options& how = {});
  /// In a given runtime.
  parallel_context(runtime& in, std::string_view name, const context_options& how = {});
  parallel_context(const parallel_context&) = delete;
  parallel_context& operator=(const parallel_context&) = delete;
  /// Ends its tasks as context_options::at_end says, and waits for them.
  ~parallel_context() override;

  /// Changes how many workers it has, while they run. `least` are started before this returns, others when there is work for them. Those
  /// that are too many go when the task that they run waits or ends, and leave what they have to the others; a task that is pinned
  /// to one keeps it.
  ///
  /// Throws: std::invalid_argument for numbers that cannot be; std::system_error if the system has no thread or memory for so many
  ///         at once: then the rest is tried again when there is work for it; errc::single_threaded and errc::forked as above.
  void resize(worker_count workers);

 private:
  friend struct detail::runtime_core;
  explicit parallel_context(detail::context_core& started) noexcept : execution_context(started) {}
};

/// One thread; tasks take turns and never run at the same time.
class WEFT_EXPORT concurrent_context final : public execution_context {
 public:
  /// As for a parallel one.
  explicit concurrent_context(std::string_view name, const concurrent_options& how = {});
  /// In a given runtime.
  concurrent_context(runtime& in, std::string_view name, const concurrent_options& how = {});
  concurrent_context(const concurrent_context&) = delete;
  concurrent_context& operator=(const concurrent_context&) = delete;
  /// Ends its tasks as concurrent_options::at_end says, and waits for them.
  ~concurrent_context() override;
};

/// One thread for one function. What that spawns goes elsewhere, and so does what is spawned into this context: to the one that was
/// named, or to the first of the runtime. That must not be isolated itself (errc::isolated_context).
class WEFT_EXPORT isolated_context final : public execution_context {
 public:
  /// Runs the function, as a task, on a thread of its own.
  isolated_context(std::string_view name, std::function<void()> function, const isolated_options& how = {},
                   detail::source_site site = detail::source_site::current());
  /// In a given runtime.
  isolated_context(runtime& in, std::string_view name, std::function<void()> function,
                   const isolated_options& how = {},
                   detail::source_site site = detail::source_site::current());
  isolated_context(const isolated_context&) = delete;
  isolated_context& operator=(const isolated_context&) = delete;
  /// Asks the function to stop if it has not ended, and waits for it.
  ~isolated_context() override;

  /// Waits for the function. Once.
  ///
  /// Cancellation point: yes.
  /// Throws: what the function threw; std::system_error(errc::cancelled) if it stopped because it was asked to.
  void join();

 private:
  handle<void> only_;
};

/// The first context of the runtime that the caller runs in. On a plain thread that of the default runtime, which is started when it is
/// first needed: by this, or by whatever a plain thread spawns without saying where to. It is never ended: what runs there ends
/// with the process. A task that must be finished is joined.
///
/// Throws: as the constructor of runtime.
[[nodiscard]] WEFT_EXPORT parallel_context& default_context();

/// How the default runtime is made. Before it is first needed; only then it turns out whether the options can be.
///
/// Throws: std::system_error(errc::already_started) if it is there already.
WEFT_EXPORT void configure_default(const runtime_options& how);

/// The running task goes on in another context of the same runtime, and belongs there from now on.
///
/// Cancellation point: no.
/// Throws: std::system_error: errc::wrong_context if that belongs to another runtime, errc::isolated_context if it is isolated,
///         errc::shut_down if it ends; then the task is where it was. errc::no_runtime on a plain thread.
WEFT_EXPORT void move_to(execution_context& to);

}  // namespace weft
