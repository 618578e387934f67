// SPDX-License-Identifier: Apache-2.0
//
// nursery_core — a nursery: its children's count, their failures, and where they run: in one execution context, or each in that of who
// spawns it.
#pragma once

#include "sched/task.hpp"
#include "sched/task_group.hpp"

#include <atomic>
#include <cstdint>
#include <exception>

namespace weft::impl {

class commons;
class pool;

class nursery_core {
 public:
  using task_group = basic_task_group<default_platform, waiter_word>;

  /// `only`: where its children run; null: where those run who spawn them.
  nursery_core(commons& all, pool* only, const task* owner) noexcept
      : all_(all), only_(only), owner_(owner) {}
  nursery_core(const nursery_core&) = delete;
  nursery_core& operator=(const nursery_core&) = delete;
  ~nursery_core();

  /// A child is about to begin, by whoever calls this; null: a thread that is no worker.
  void count_in(const task* by) noexcept {
    if (WEFT_LIKELY(by != nullptr && by == owner_)) {
      children_.begin_by_owner();
    } else {
      children_.begin_by_other();
    }
  }
  /// Children have ended, or could not begin. The nursery may be gone afterwards.
  void count_out(std::uint64_t ended) noexcept;

  /// Anyone's, while a child or the body is alive.
  void cancel() noexcept;
  void fail(std::exception_ptr why) noexcept;

  /// Waits for all children. Returns whether the caller was asked to stop meanwhile, or had been.
  [[nodiscard]] bool close(bool is_cancelled) noexcept;
  /// What failed first, after close(); nothing if nothing did.
  [[nodiscard]] std::exception_ptr first_failure() const noexcept;

  [[nodiscard]] bool is_cancelled() const noexcept { return children_.cancel.requested(); }
  [[nodiscard]] commons& all() const noexcept { return all_; }
  [[nodiscard]] pool* only() const noexcept { return only_; }

  /// As what a child's handle word says of it.
  [[nodiscard]] std::uintptr_t as_owner() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
  /// The nursery of a task; null for one that belongs to none.
  [[nodiscard]] static nursery_core* of(const task& child) noexcept { return from(child.handle.owner()); }
  [[nodiscard]] static nursery_core* from(std::uintptr_t owner) noexcept {
    return reinterpret_cast<nursery_core*>(owner);
  }

 private:
  struct failure {
    std::exception_ptr why;
    failure* earlier = nullptr;
  };

  commons& all_;
  pool* const only_;
  const task* const owner_;
  default_platform::atomic<failure*> failures_{nullptr};  // the latest; they last as long as the nursery
  task_group children_;
};

}  // namespace weft::impl
