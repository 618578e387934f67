// SPDX-License-Identifier: Apache-2.0
//
// overseer — what sysmon does for one pool: it brings workers that were called and are not there, and adds some where those that are
// there are stuck while work waits.
//
// Thread safety: want() by anyone; the rest by sysmon.
#pragma once

#include "base/clock.hpp"
#include "sched/pace.hpp"
#include "sched/queue_probe.hpp"
#include "sched/scaling.hpp"
#include "sched/worker_progress.hpp"
#include "sys/platform.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::impl {

class pool;

/// What was done so far, for those who look.
struct overseer_counters {
  std::atomic<std::uint64_t> replaced{0};  // workers that were added for others that were blocked
  std::atomic<std::uint64_t> joined{0};    // for others that were busy
  std::atomic<std::uint64_t> failed{0};    // threads that could not be started
};

struct overseer_options {
  scaling_options scaling;
  duration hog_after = duration::max();       ///< a task is named that runs for so long
  duration overload_after = duration::max();  ///< it is told that whatever comes waits for so long
  bool tells = false;                         ///< what it does, and why
};

class overseer {
 public:
  /// Throws: std::bad_alloc.
  overseer(pool& of, const overseer_options& how);

  /// A worker was called that is not there.
  void want(std::size_t worker) noexcept;

  /// Looks after the pool.
  [[nodiscard]] sysmon_sight look(time_point now) noexcept;

  /// Before sysmon sleeps: those that are blocked call it when they come back, at their next pick or checkpoint.
  /// Returns false if one of them has come back by now.
  [[nodiscard]] bool leave_notes() noexcept;

  [[nodiscard]] const overseer_counters& counters() const noexcept { return counters_; }
  /// Anyone's: how long what comes to the pool waits until it runs.
  [[nodiscard]] duration queue_age(time_point now) const noexcept { return probe_.age(now); }
  /// Whether that has passed its bound, which nobody was told yet.
  [[nodiscard]] bool is_overloaded_anew() const noexcept { return is_overloaded_anew_; }
  void forget_overload() noexcept { is_overloaded_anew_ = false; }
  /// After the last look, and the end of the last worker: takes back what is on its way.
  void take_back(runnable left) noexcept;

 private:
  enum class condition : std::uint8_t { absent, asleep, running, blocked, busy };
  struct watch {
    worker_progress last;
    time_point since;
    time_point picked_at;          // when it was last seen to have begun something
    std::uint32_t waits_seen = 0;  // looks in a row that found its thread waiting in the kernel
    std::uint32_t looks_spared = 0;
    condition now = condition::absent;
    bool was_asked = false;  // to give way, and it was said
    bool is_named = false;   // as one that hogs its worker
  };

  void bring_wanted(time_point now) noexcept;
  void enroll_again() noexcept;
  [[nodiscard]] sysmon_sight judge(const crew_look& seen) const noexcept;
  void see_to_events(const crew_look& seen, time_point now) noexcept;
  [[nodiscard]] std::uint32_t room() const noexcept;
  [[nodiscard]] bool tells_of_overload() const noexcept { return how_.overload_after != duration::max(); }
  [[nodiscard]] crew_look look_at_all(time_point now) noexcept;
  [[nodiscard]] bool has_run_one_task(const watch& one, time_point now) const noexcept;
  [[nodiscard]] condition look_at(std::uint32_t worker, time_point now) noexcept;
  void add(const scaling_step& step, const crew_look& seen, time_point now) noexcept;
  void tell(const scaling_step& step, const crew_look& seen, std::uint32_t added,
            bool has_failed) const noexcept;
  void tell_of_call(std::uint32_t worker, const result<bool>& brought) const noexcept;
  void tell_of_request(std::uint32_t worker, duration runs_for) const noexcept;
  static void begin(watch& one, time_point now) noexcept;
  void hasten(time_point now) noexcept;
  void name_hog(std::uint32_t worker, duration busy_for) noexcept;
  void measure_queue(time_point now) noexcept;

  static constexpr std::size_t most_workers = 256;
  static constexpr std::size_t word_bits = 64;

  pool& pool_;
  const overseer_options how_;
  std::array<std::atomic<std::uint64_t>, most_workers / word_bits> wanted_{};
  std::vector<watch> watches_;
  std::vector<std::uint32_t> excused_;  // could not be brought, and are not called until later
  time_point enroll_at_ = never;
  time_point add_at_;  // not before
  time_point waits_since_ = never;
  bool events_were_due_ = false;
  bool nobody_sat_ = false;
  bool can_add_ = true;
  bool is_in_doubt_ = false;  // whether somebody is blocked
  queue_probe probe_;
  bool is_overloaded_ = false;
  bool is_overloaded_anew_ = false;
  overseer_counters counters_;
};

}  // namespace weft::impl
