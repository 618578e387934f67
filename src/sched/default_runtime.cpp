// SPDX-License-Identifier: Apache-2.0

#include "sched/default_runtime.hpp"

#include "base/report.hpp"
#include "sched/failure.hpp"
#include "sched/fork_watch.hpp"
#include "sys/platform.hpp"

#include <weft/error.hpp>
#include <weft/execution_context.hpp>
#include <weft/runtime.hpp>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>

namespace weft::impl {
namespace {

/// Never destroyed, nor is the runtime: tasks may run until the process has ended.
class default_holder : public forked_party {
 public:
  static default_holder& instance() {
    static auto* const only = new default_holder;
    return *only;
  }

  [[nodiscard]] runtime& get() {
    if (runtime* const started = started_.load(std::memory_order_acquire)) return *started;  // [DR-started]
    const scoped_hold hold(lock_);
    if (runtime* const started = started_.load(std::memory_order_relaxed)) return *started;
    auto* const made = new runtime(how_.value_or(runtime_options()));
    if (detail::core_of(*made)->options().reports_statistics) (void)std::atexit(&report_at_exit);
    started_.store(made, std::memory_order_release);  // [DR-started]
    return *made;
  }

  void configure(const runtime_options& how) {
    const scoped_hold hold(lock_);
    if (started_.load(std::memory_order_relaxed) != nullptr) fail(errc::already_started);
    how_ = how;
  }

 private:
  // What the child has is its parent's: it starts one of its own, if it needs one. Whoever held the lock is not there.
  default_holder()
      : forked_party([](forked_party& self) noexcept {
          auto& mine = static_cast<default_holder&>(self);
          mine.started_.store(nullptr, std::memory_order_relaxed);
          new (&mine.lock_) default_platform::mutex;
        }) {}

  // Its workers may still run: so the figures are those of a moment.
  static void report_at_exit() noexcept {
    runtime* const made = instance().started_.load(std::memory_order_acquire);  // [DR-started]
    if (made == nullptr) return;                                                // in a forked child
    try {
      detail::core_of(*made)->report_statistics();
    } catch (const std::bad_alloc&) {
      report(text_line() << "no memory for the statistics of the default runtime");
    }
  }

  default_platform::mutex lock_;
  std::optional<runtime_options> how_;
  std::atomic<runtime*> started_{nullptr};
};

}  // namespace

detail::runtime_core& default_runtime() { return *detail::core_of(default_holder::instance().get()); }

}  // namespace weft::impl

namespace weft {

parallel_context& default_context() {
  if (const impl::worker* const here = impl::current_worker())
    return static_cast<parallel_context&>(*here->all().first()->face());
  return *impl::default_runtime().main;
}

void configure_default(const runtime_options& how) { impl::default_holder::instance().configure(how); }

}  // namespace weft
