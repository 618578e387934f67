// SPDX-License-Identifier: Apache-2.0
//
// custom_context — execution contexts with rules of one's own, in two ways:
//
//     custom_context     says itself on which threads its tasks run, and in which order. Whenever a task is ready, the context is given it
//                        (`enqueue`), puts it wherever it likes, and runs it when it likes (`runner`).
//     wrapping_context   sees all its tasks come and go, and lets another context run them.
//
// A frame of a game that runs what is ready, and no longer than until the next picture is due:
//
//     class frame_context final : public weft::custom_context {
//      public:
//       frame_context() : custom_context("frames") {}
//       ~frame_context() override {
//         for (close(); !is_over();) run_until(clock::time_point::max());
//       }
//       void run_until(clock::time_point next_picture) {          // by the thread that draws
//         while (clock::now() < next_picture) {
//           weft::ready_task next = take();                       // from the queue below
//           if (!next) return;
//           here_.run(std::move(next));
//         }
//       }
//
//      private:
//       void enqueue(weft::ready_task ready) noexcept override {  // by anyone, at any time
//         const std::lock_guard hold(lock_);
//         queue_.push_back(std::move(ready));
//       }
//       ...
//       runner here_{*this};
//     };
//
// examples/contexts/frame_loop.cpp has all of it, examples/contexts/supervised.cpp one that wraps another.
//
// What must be kept in mind: enqueue() and on_leave() are called in the middle of things, from inside of spawn(), of join(), of a timer, of dump(), on
// any thread, and from several at once. They take a short lock, signal a condition variable or write to an eventfd; they do not wait
// for tasks, and call nothing of weft but what is said here.
#pragma once

#include <weft/config.hpp>
#include <weft/execution_context.hpp>
#include <weft/spawn_options.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace weft {

class runtime;

/// A task that may begin or go on, in the hands of its context. It is run or passed on, once. One that is destroyed before that would
/// never end: so the process ends, with a message.
///
/// Thread safety: as for any value.
class WEFT_EXPORT ready_task {
 public:
  /// None.
  ready_task() noexcept = default;
  /// Takes it over; the other has none then.
  ready_task(ready_task&& other) noexcept
      : task_(std::exchange(other.task_, nullptr)), is_fresh_(other.is_fresh_) {}
  /// The same, where there is none yet: one that would be lost ends the process.
  ready_task& operator=(ready_task&& other) noexcept;
  ready_task(const ready_task&) = delete;
  ready_task& operator=(const ready_task&) = delete;
  /// Ends the process if it has not been run.
  ~ready_task() {
    if (task_ != nullptr) fail_as_lost();
  }

  /// Whether there is one.
  explicit operator bool() const noexcept { return task_ != nullptr; }

  /// Whether it is to begin, and not to go on after a wait.
  [[nodiscard]] bool is_fresh() const noexcept { return is_fresh_; }
  /// As this_fiber::id() in the task.
  [[nodiscard]] std::uint64_t id() const noexcept;
  /// Good until it runs.
  [[nodiscard]] std::string_view name() const noexcept;
  /// What it was spawned with. A custom context makes of it what it likes.
  [[nodiscard]] weft::priority priority() const noexcept;

 private:
  friend struct detail::context_access;
  ready_task(detail::task_record& task, bool is_fresh) noexcept : task_(&task), is_fresh_(is_fresh) {}
  void fail_as_lost() const noexcept;

  detail::task_record* task_ = nullptr;
  bool is_fresh_ = false;
};

/// What has left a context: its task has ended, or has gone to another.
struct left_task {
  std::uint64_t id = 0;   ///< as this_fiber::id() in the task
  std::string_view name;  ///< good within the call
};

/// What both have in common.
class WEFT_EXPORT arranging_context : public execution_context {
 public:
  arranging_context(const arranging_context&) = delete;
  arranging_context& operator=(const arranging_context&) = delete;
  /// After the derived class has ended its tasks.
  ~arranging_context() override;

 protected:
  explicit arranging_context(detail::context_core& started) noexcept : execution_context(started) {}

  /// A task of it is ready. From now on it is the context's, and may be run at once, also by another thread.
  virtual void enqueue(ready_task ready) noexcept = 0;

 private:
  friend struct detail::context_access;
};

/// How a custom_context is made.
struct custom_options {
  std::uint32_t runners = 1;  ///< at the same time, at most: 1 to 256
};

/// A context that says itself on which threads its tasks run, and in which order.
///
/// Its tasks do all that tasks do, but for one: a pin_guard ends the process, since it is the context that says where they run. (With one
/// runner on one thread they never move.) Their timers are looked after by the workers of the first
/// context of the runtime, and so are late while all of those are stuck (timer_mode::own_thread gives them a thread of their own). sysmon
/// does not look after its runners.
///
/// A derived class ends in its destructor what it has begun: close(), then it runs what is ready until is_over(). The destructor of this
/// one ends the process if tasks are left.
class WEFT_EXPORT custom_context : public arranging_context {
 public:
  custom_context(const custom_context&) = delete;
  custom_context& operator=(const custom_context&) = delete;
  /// No task is left, or the process ends.
  ~custom_context() override;

  /// A thread that runs tasks of the context. Made, used and destroyed by one thread, which is none of weft's; before the context goes.
  class WEFT_EXPORT runner {
   public:
    /// Throws: std::system_error without a stack, and where there are as many runners already as the context can have; std::bad_alloc.
    explicit runner(custom_context& of);
    runner(const runner&) = delete;
    runner& operator=(const runner&) = delete;
    /// By the thread that has made it.
    ~runner();

    /// Runs a task on this thread, until it waits or ends, gives way, or goes elsewhere; with it what nobody else could run: second
    /// halves of joins that it has left behind. A task of this context, or of one that wraps it.
    void run(ready_task ready) noexcept;

   private:
    custom_context& of_;
    std::uint32_t place_;
    void* const faults_;  // where the thread finds out that a task has run past its stack
  };

 protected:
  /// In the runtime of the running task; on a plain thread in the default one.
  ///
  /// Throws: std::system_error without memory and where the runtime ends or runs on its caller's thread; std::invalid_argument.
  explicit custom_context(std::string_view name, const custom_options& how = {});
  /// In a given runtime.
  custom_context(runtime& in, std::string_view name, const custom_options& how = {});

  /// Lets no more tasks in, but what its own spawn, and asks all to stop: they come by enqueue().
  void close() noexcept;
  /// Whether all of its tasks have ended, and enqueue() is not called any more. After close(). Waits for calls of enqueue() that are
  /// under way: so not while a lock is held that those take.
  [[nodiscard]] bool is_over() noexcept;
};

/// How a wrapping_context is made.
struct wrapping_options {
  leftovers at_end = leftovers::cancelled;  ///< what happens to tasks that are alive when it ends
};

/// A context whose tasks another one runs, which it outlives by no means: that one is destroyed later.
///
/// What its tasks spawn belongs to it as well, wherever that is run; and it ends when all of them have ended. To wait, to spawn and
/// to go on costs a little more than in the inner one: all that is ready comes from outside there.
///
/// A derived class calls end() in its destructor, before anything of it goes that enqueue() and on_leave() need. The destructor of this one
/// ends the process if tasks are left.
class WEFT_EXPORT wrapping_context : public arranging_context {
 public:
  wrapping_context(const wrapping_context&) = delete;
  wrapping_context& operator=(const wrapping_context&) = delete;
  /// No task is left, or the process ends.
  ~wrapping_context() override;

  /// Where its tasks run.
  [[nodiscard]] execution_context& inner() const noexcept { return inner_; }

 protected:
  /// Throws: std::system_error: errc::isolated_context for one that runs nothing but its own function; without memory, and where the
  ///         runtime ends.
  wrapping_context(std::string_view name, execution_context& inner, const wrapping_options& how = {});

  /// As it is here, what is ready is passed on at once. A derived class may do so later.
  void enqueue(ready_task ready) noexcept override { pass_on(std::move(ready)); }
  /// A task of it has ended, or has gone elsewhere: one that was shown to enqueue() when it was fresh.
  virtual void on_leave(const left_task& /*gone*/) noexcept {}

  /// Lets the inner context run a task.
  void pass_on(ready_task ready) noexcept;

  /// Lets no more tasks in, but what its own spawn; asks those that live to stop, unless the options say otherwise; returns when all have
  /// ended, and neither enqueue() nor on_leave() is called any more. By a thread, or by a task of another context; not
  /// while a lock is held that those two take.
  void end() noexcept;

 private:
  friend struct detail::context_access;
  execution_context& inner_;
};

}  // namespace weft
