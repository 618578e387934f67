// SPDX-License-Identifier: Apache-2.0
//
// execution — one run of a model: its threads, who runs when, and what went wrong.
//
// Model threads are contexts on weft's own switch, all on one operating-system thread. Before every shared operation the
// running one asks who goes on; the oracle answers. Whatever the code under test does through the Platform seam comes
// here (model/platform.hpp), so nothing that two threads can see happens outside the oracle's control.
//
// Thread safety: none; one execution at a time in a process.
// Invariants:   X1  at most one model thread runs; `running_` says which (0 is the thread that sets up and tears down)
//               X2  an execution is a function of the choices of its oracle
#pragma once

#include "arch/switch.hpp"
#include "base/atomic.hpp"
#include "model/memory.hpp"
#include "model/oracle.hpp"
#include "model/site.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weft::model {

class world;

/// How an execution ended.
enum class outcome : std::uint8_t { clean, failed, infeasible };

/// What is the same for many executions.
struct run_settings {
  unsigned preemptions = 2;  // of the exhaustive search
  unsigned depth = 3;        // PCT's d: how many ordering constraints a bug may have
  std::size_t expected_steps = 60;
  bool exhaustive = false;
  bool traced = false;
  bool promises = true;  // whether loads may read what is yet to be stored
};

class execution {
 public:
  using body = std::function<void(world&)>;

  execution();
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;
  ~execution();

  /// The execution that runs now. Aborts outside of a model.
  [[nodiscard]] static execution& now() noexcept;

  /// Runs a model once.
  outcome run(const body& model, trail plan, oracle::strategy beyond, std::uint64_t seed,
              const run_settings& how);

  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  [[nodiscard]] const std::vector<std::string>& trace() const noexcept { return trace_; }
  [[nodiscard]] const oracle& choices() const noexcept { return oracle_; }
  [[nodiscard]] const memory& shared() const noexcept { return memory_; }
  /// Whether the model's threads run, as opposed to its setting up.
  [[nodiscard]] bool runs_threads() const noexcept { return concurrent_; }
  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
  /// How many odd values the model has allowed each execution of the exhaustive search; none: as many as there are.
  [[nodiscard]] std::optional<unsigned> odd_values() const noexcept { return odd_values_; }

  /// Ends the execution as a failure, for a reason given as to printf. Leaves the thread where it is: nothing on its stack
  /// is destroyed, so the caller must not hold anything that needs it.
  [[noreturn, gnu::format(printf, 2, 3)]] void fail(const char* why, ...);
  [[noreturn]] void infeasible();

  // For world: the model describes itself.
  void add_thread(const char* called, std::function<void()> does);
  void search_less(unsigned odd_values);

  // For platform.hpp: what the code under test does. `self` is the address of the atomic or cell.
  [[nodiscard]] location_id make_location(const void* self, std::uint64_t value);
  void drop_location(location_id at, const void* self) noexcept;
  std::uint64_t load(location_id at, const void* self, std::memory_order order, place where);
  void store(location_id at, const void* self, std::uint64_t value, std::memory_order order, place where);
  /// `change` gives the new value from the old.
  template <class F>
  std::uint64_t modify(location_id at, const void* self, F change, std::memory_order order, place where,
                       const char* how) {
    order = mutated(order, where, operation::rmw);
    begin_operation(at, self);
    const std::size_t source = memory_.choose_source(me(), at, order);
    const std::uint64_t before = memory_.value_of(at, source);
    const std::uint64_t after = change(before);
    memory_.modify(me(), at, source, after, order);
    wake_paused();
    note(where, how, order, before, &after);
    return before;
  }
  bool compare_exchange(location_id at, const void* self, std::uint64_t& expected, std::uint64_t value,
                        std::memory_order won, std::memory_order lost, bool weak, place where);
  void full_fence(place where);
  void light_barrier(impl::barrier_kind kind, place where);
  void heavy_barrier(impl::barrier_kind kind, place where);
  void pause();

  [[nodiscard]] std::uint32_t make_cell(const void* self);
  void drop_cell(std::uint32_t cell, const void* self) noexcept;
  void touch_cell(std::uint32_t cell, const void* self, bool writes);

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment);
  void deallocate(void* at);

  /// As futex(2): sleeps if the location holds the value, until woken; with a time limit, perhaps until that.
  ///
  /// Returns: whether it was woken, or did not sleep; false when time ran out.
  bool sleep(location_id at, const void* self, std::uint64_t expected, bool timed);
  unsigned wake(location_id at, unsigned count);

  /// A place where another thread may run, without an operation.
  void point();

  // Mutation.
  void set_mutant(std::optional<mutant> m) { mutant_ = std::move(m); }
  void record_sites(std::set<mutant>* into) { sites_ = into; }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{128} * 1024;
  static constexpr std::size_t most_steps = 20'000;

  enum class condition : std::uint8_t { ready, paused, asleep, asleep_for_a_while, finished };

  struct thread {
    thread_memory knows;
    condition is = condition::ready;
    location_id sleeps_on = 0;
    bool timed_out = false;
    int priority = 0;
    const char* called = "";
    std::function<void()> does;
    std::unique_ptr<char[]> stack;
    impl::context where;
  };
  struct location_state {
    const void* self = nullptr;  // null: destroyed
    thread_id maker = 0;
    std::int32_t made = 0;  // the maker's clock
    clocks used;            // each user's at its last operation
  };
  struct cell_state {
    const void* self = nullptr;
    thread_id writer = 0;
    std::int32_t written = 0;  // the writer's clock
    clocks read;
  };
  struct block {
    void* at;
    std::size_t bytes;
    std::size_t alignment;
    bool freed;
  };

  thread_memory& me() noexcept { return threads_[running_].knows; }
  void reset();
  void draw_priorities();
  void run_threads(thread_id first);
  void check_end();
  void free_blocks();
  static void enter(void* raw);

  void begin_operation(location_id at, const void* self);
  void check_alive(location_id at, const void* self);
  void expect_after(const clocks& others, const char* does);
  void step();
  [[nodiscard]] unsigned candidates(thread_id (&ready)[max_threads]);
  [[nodiscard]] thread_id next_thread();
  [[nodiscard]] unsigned favourite(const thread_id* ready, unsigned count);
  WEFT_SWITCHES void go_to(thread_id next);
  [[noreturn]] WEFT_SWITCHES void leave();
  [[noreturn]] void end_as_failed();
  void wake_paused() noexcept;
  [[noreturn]] void fail_asleep();

  std::memory_order mutated(std::memory_order order, place where, operation what);
  [[nodiscard]] bool left_out(place where, operation what);
  void note(place where, const char* what, std::memory_order order, std::uint64_t value,
            const std::uint64_t* after);
  void note_text(const std::string& text);

  impl::attached_carrier carrier_;
  oracle oracle_;
  memory memory_;
  run_settings how_;
  std::vector<thread> threads_;  // [0] is the one that sets up; its stack is the caller's
  std::size_t live_ = 0;         // threads_[0, live_) belong to this execution
  thread_id running_ = 0;
  bool concurrent_ = false;  // whether the model's threads run now
  unsigned preemptions_ = 0;
  std::size_t steps_ = 0;
  unsigned fruitless_rounds_ = 0;
  thread_id certifying_ = 0;  // after a failure: whose promise must still be kept; 0 for nobody's
  bool woken_for_nothing_ = false;
  std::vector<std::size_t> change_points_;
  std::vector<location_state> locations_;
  std::vector<cell_state> cells_;
  std::vector<block> blocks_;
  std::optional<unsigned> odd_values_;
  outcome outcome_ = outcome::clean;
  std::string failure_;
  std::vector<std::string> trace_;
  std::optional<mutant> mutant_;
  std::set<mutant>* sites_ = nullptr;
};

}  // namespace weft::model
