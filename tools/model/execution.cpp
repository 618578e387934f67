// SPDX-License-Identifier: Apache-2.0

#include "model/execution.hpp"

#include "model/world.hpp"

#include <weft/detail/assert.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace weft::model {
namespace {

execution* current = nullptr;  // the checker is single-threaded

}  // namespace

execution::execution()
    : memory_({&oracle_, [this] { infeasible(); },
               [this] { fail("livelock: thousands of stores to one location"); },
               [this](thread_id id) -> const thread_memory& { return threads_[id].knows; }}) {
  WEFT_CHECK(current == nullptr, "one checker at a time in a process");
  current = this;
  threads_.resize(max_threads);  // contexts must not move
  for (std::size_t i = 1; i < max_threads; ++i) threads_[i].stack = std::make_unique<char[]>(stack_bytes);
}

execution::~execution() { current = nullptr; }

execution& execution::now() noexcept {
  WEFT_CHECK(current != nullptr, "model::platform is used outside of a model");
  return *current;
}

// ---- one execution -------------------------------------------------------------------------------------------------

outcome execution::run(const body& model, trail plan, oracle::strategy beyond, std::uint64_t seed,
                       const run_settings& how) {
  how_ = how;
  reset();
  memory_.seek_promises(how.promises);
  oracle_.begin(std::move(plan), beyond, seed);
  {
    world made(*this);
    model(made);
    run_threads(1);
    if (outcome_ == outcome::clean && !memory_.all_promises_kept()) outcome_ = outcome::infeasible;
    if (outcome_ == outcome::clean) {
      const auto last = static_cast<thread_id>(live_);
      add_thread("finally", [&made] { made.finish(); });
      run_threads(last);
    }
  }
  if (outcome_ == outcome::clean) check_end();
  free_blocks();
  return outcome_;
}

void execution::reset() {
  memory_.clear();
  live_ = 1;
  running_ = 0;
  threads_[0].knows = {};
  threads_[0].knows.current.happened[0] = 1;
  threads_[0].called = "main";
  threads_[0].is = condition::finished;  // never a candidate
  concurrent_ = false;
  preemptions_ = 0;
  steps_ = 0;
  fruitless_rounds_ = 0;
  certifying_ = 0;
  woken_for_nothing_ = false;
  odd_values_.reset();
  locations_.clear();
  cells_.clear();
  outcome_ = outcome::clean;
  failure_.clear();
  trace_.clear();
}

void execution::add_thread(const char* called, std::function<void()> does) {
  WEFT_CHECK(!concurrent_ && live_ < max_threads,
             "a model has at most six threads, all made before they run");
  thread& t = threads_[live_];
  t.called = called;
  t.does = std::move(does);
  t.is = condition::ready;
  t.timed_out = false;
  t.knows = {};
  t.knows.id = static_cast<thread_id>(live_);
  ++live_;
}

// PCT: distinct priorities at random, and depth - 1 moments at which whoever runs falls below all others.
void execution::draw_priorities() {
  const auto count = static_cast<std::uint32_t>(live_);
  for (std::uint32_t i = 1; i < count; ++i) threads_[i].priority = static_cast<int>(how_.depth + i);
  for (std::uint32_t i = count - 1; i > 1; --i) {
    std::swap(threads_[i].priority, threads_[1 + oracle_.chance().below(i)].priority);
  }
  change_points_.clear();
  for (unsigned d = 1; d < how_.depth; ++d) {
    change_points_.push_back(1 + oracle_.chance().below(static_cast<std::uint32_t>(how_.expected_steps)));
  }
}

void execution::search_less(unsigned odd_values) {
  if (!how_.exhaustive) return;
  odd_values_ = odd_values;
  memory_.seek_promises(false);
  oracle_.allow_odd(odd_values);
}

// Runs threads_[first, live_) from where they begin until all have finished, or to the first failure.
void execution::run_threads(thread_id first) {
  for (std::size_t i = first; i < live_; ++i) {
    thread& t = threads_[i];
    memory::start(t.knows, threads_[0].knows);
    impl::make_context(t.where, t.stack.get(), stack_bytes, &enter, this);
  }
  if (first == live_) return;
  ++threads_[0].knows.current.happened[0];
  if (oracle_.beyond() == oracle::strategy::priorities) draw_priorities();
  concurrent_ = true;
  go_to(next_thread());
  concurrent_ = false;
  running_ = 0;
  for (std::size_t i = first; i < live_; ++i) {
    impl::forget_context(threads_[i].where);
    memory::join(threads_[0].knows, threads_[i].knows);
  }
}

void execution::enter(void* raw) {
  auto* const self = static_cast<execution*>(raw);
  const thread_id id = self->running_;
  impl::begin_context(self->threads_[id].where);
  self->threads_[id].does();
  thread& t = self->threads_[id];
  t.is = condition::finished;
  self->wake_paused();
  const bool all = std::all_of(self->threads_.begin() + 1,
                               self->threads_.begin() + static_cast<std::ptrdiff_t>(self->live_),
                               [](const thread& other) { return other.is == condition::finished; });
  if (!all || self->certifying_ != 0) self->go_to(self->next_thread());
  self->leave();
}

void execution::check_end() {
  for (const block& b : blocks_) {
    if (b.freed) continue;
    outcome_ = outcome::failed;
    failure_ = "memory from allocate() was not given back";
  }
}

void execution::free_blocks() {
  for (const block& b : blocks_) ::operator delete (b.at, std::align_val_t{b.alignment});
  blocks_.clear();
}

void execution::fail(const char* why, ...) {
  WEFT_CHECK(concurrent_, "a model fails in a thread or in its final check, not while it is set up");
  if (certifying_ != 0) infeasible();
  char text[256];
  std::va_list arguments;
  va_start(arguments, why);
  std::vsnprintf(text, sizeof text, why, arguments);
  va_end(arguments);
  failure_ = text;
  if (how_.traced) {
    trace_.emplace_back("FAILS: ");
    trace_.back() += text;
  }
  const thread_id debtor = memory_.owes();
  if (debtor == 0) end_as_failed();
  if (debtor == running_) infeasible();
  // Something was read that is yet to be stored: it only counts if the store comes.
  certifying_ = debtor;
  threads_[running_].is = condition::finished;
  go_to(next_thread());
  leave();
}

void execution::end_as_failed() {
  outcome_ = outcome::failed;
  leave();
}

void execution::infeasible() {
  outcome_ = outcome::infeasible;
  leave();
}

// ---- who runs ------------------------------------------------------------------------------------------------------

// The threads that may run, the running one first: choice 0 is that it goes on.
unsigned execution::candidates(thread_id (&ready)[max_threads]) {
  unsigned count = 0;
  const auto may_run = [](const thread& t) {
    return t.is == condition::ready || t.is == condition::asleep_for_a_while;
  };
  if (may_run(threads_[running_])) ready[count++] = running_;
  for (std::size_t i = 1; i < live_; ++i) {
    if (i != running_ && may_run(threads_[i])) ready[count++] = static_cast<thread_id>(i);
  }
  return count;
}

thread_id execution::next_thread() {
  if (certifying_ != 0) {
    if (memory_.all_promises_kept()) end_as_failed();
    if (threads_[certifying_].is != condition::ready || ++steps_ > most_steps) infeasible();
    return certifying_;
  }
  thread_id ready[max_threads];
  unsigned count = candidates(ready);
  if (count == 0) {
    // Whoever waits in a loop looks again. If that leads nowhere, it never will.
    if (++fruitless_rounds_ > 100) fail("livelock: every thread that can run waits in a loop");
    for (std::size_t i = 1; i < live_; ++i) {
      if (threads_[i].is == condition::paused) threads_[i].is = condition::ready;
    }
    count = candidates(ready);
  }
  if (count == 0) fail_asleep();
  if (++steps_ > most_steps) fail("livelock: no end after 20,000 steps");
  const bool goes_on = ready[0] == running_ && threads_[running_].is == condition::ready;
  const bool spent = how_.exhaustive && goes_on && preemptions_ >= how_.preemptions;
  const unsigned chosen = oracle_.choose_thread(count, favourite(ready, count), spent ? 1 : count);
  if (goes_on && chosen != 0) ++preemptions_;
  return ready[chosen];
}

unsigned execution::favourite(const thread_id* ready, unsigned count) {
  if (oracle_.beyond() != oracle::strategy::priorities) return 0;
  const auto highest = [&] {
    unsigned best = 0;
    for (unsigned i = 1; i < count; ++i) {
      if (threads_[ready[i]].priority > threads_[ready[best]].priority) best = i;
    }
    return best;
  };
  for (std::size_t d = 0; d < change_points_.size(); ++d) {
    if (change_points_[d] == steps_) threads_[ready[highest()]].priority = -static_cast<int>(d);
  }
  return highest();
}

void execution::go_to(thread_id next) {
  impl::carrier* const here = impl::current_carrier();
  impl::context& from = running_ == 0 ? here->native : threads_[running_].where;
  running_ = next;
  impl::switch_context<impl::switch_edge::ordered>(*here, from, threads_[next].where);
}

// Back to run_threads(), for good.
void execution::leave() {
  impl::carrier* const here = impl::current_carrier();
  impl::context& from = threads_[running_].where;
  running_ = 0;
  impl::switch_for_good<impl::switch_edge::ordered>(*here, from, here->native);
}

void execution::point() {
  if (!concurrent_) return;
  const thread_id next = next_thread();
  if (next != running_) go_to(next);
}

void execution::pause() {
  if (!concurrent_) return;
  thread& t = threads_[running_];
  t.is = condition::paused;
  t.knows.fresh = 4;
  const thread_id next = next_thread();
  if (next != running_) go_to(next);
}

void execution::wake_paused() noexcept {
  fruitless_rounds_ = 0;
  for (std::size_t i = 1; i < live_; ++i) {
    if (i != running_ && threads_[i].is == condition::paused) threads_[i].is = condition::ready;
  }
}

bool execution::sleep(location_id at, const void* self, std::uint64_t expected, bool timed) {
  point();
  check_alive(at, self);
  if (memory_.newest(at) != expected) return true;
  if (!woken_for_nothing_ && oracle_.choose(2) == 1) {
    woken_for_nothing_ = true;
    if (how_.traced) note_text(std::string(threads_[running_].called) + " wakes for no reason");
    return true;
  }
  thread& t = threads_[running_];
  if (how_.traced) note_text(std::string(t.called) + " sleeps");
  t.is = timed ? condition::asleep_for_a_while : condition::asleep;
  t.sleeps_on = at;
  t.timed_out = true;  // unless somebody wakes it
  const thread_id next = next_thread();
  if (next != running_) go_to(next);
  threads_[running_].is = condition::ready;
  return !threads_[running_].timed_out;
}

unsigned execution::wake(location_id at, unsigned count) {
  point();
  unsigned woken = 0;
  for (std::size_t i = 1; i < live_ && woken < count; ++i) {
    thread& t = threads_[i];
    const bool sleeps = t.is == condition::asleep || t.is == condition::asleep_for_a_while;
    if (!sleeps || t.sleeps_on != at) continue;
    t.is = condition::ready;
    t.timed_out = false;
    ++woken;
    if (how_.traced) note_text(std::string(threads_[running_].called) + " wakes " + t.called);
  }
  return woken;
}

void execution::fail_asleep() {
  char names[200] = "";
  std::size_t length = 0;
  for (std::size_t i = 1; i < live_ && length < sizeof names; ++i) {
    if (threads_[i].is == condition::finished) continue;
    const int added = std::snprintf(names + length, sizeof names - length, "%s%s", length == 0 ? "" : ", ",
                                    threads_[i].called);
    length += static_cast<std::size_t>(added);
  }
  fail("nobody can run: %s sleep, and nobody is left to wake them", names);
}

// ---- memory --------------------------------------------------------------------------------------------------------

location_id execution::make_location(const void* self, std::uint64_t value) {
  const location_id at = memory_.add(me(), value);
  locations_.push_back({self, running_, me().current.happened[running_], {}});
  return at;
}

void execution::drop_location(location_id at, const void* self) noexcept {
  if (outcome_ != outcome::clean) return;
  if (at >= locations_.size() || locations_[at].self != self) return;
  // Destroying an atomic is not atomic either: it comes after whatever others do with it.
  expect_after(locations_[at].used, "destroys an atomic that");
  locations_[at].self = nullptr;
}

// Fails unless what others have done happened before now.
void execution::expect_after(const clocks& others, const char* does) {
  for (std::size_t i = 0; i < live_; ++i) {
    if (me().current.happened[i] < others[i])
      fail("data race: %s %s %s uses", threads_[running_].called, does, threads_[i].called);
  }
}

void execution::check_alive(location_id at, const void* self) {
  if (at >= locations_.size() || locations_[at].self != self) {
    fail("%s touches an atomic that was destroyed", threads_[running_].called);
  }
  // Making an atomic is not atomic: whoever uses it must have been told that it is there.
  if (concurrent_ && me().current.happened[locations_[at].maker] < locations_[at].made) {
    fail("data race: %s uses an atomic that %s has made", threads_[running_].called,
         threads_[locations_[at].maker].called);
  }
  locations_[at].used[running_] = me().current.happened[running_];
}

void execution::begin_operation(location_id at, const void* self) {
  point();
  check_alive(at, self);
}

std::uint64_t execution::load(location_id at, const void* self, std::memory_order order, place where) {
  order = mutated(order, where, operation::load);
  begin_operation(at, self);
  if (!concurrent_) return memory_.newest(at);
  const std::uint64_t value = memory_.load(me(), at, order);
  note(where, memory_.last_was_stale() ? "load, stale" : "load", order, value, nullptr);
  return value;
}

void execution::store(location_id at, const void* self, std::uint64_t value, std::memory_order order,
                      place where) {
  order = mutated(order, where, operation::store);
  begin_operation(at, self);
  memory_.store(me(), at, value, order);
  wake_paused();
  note(where, memory_.last_was_stale() ? "store, overtaken" : "store", order, value, nullptr);
}

bool execution::compare_exchange(location_id at, const void* self, std::uint64_t& expected,
                                 std::uint64_t value, std::memory_order won, std::memory_order lost,
                                 bool weak, place where) {
  won = mutated(won, where, operation::cas);
  lost = mutated(lost, where, operation::cas_failure);
  begin_operation(at, self);
  const std::uint64_t hoped = expected;
  if (!memory_.compare_exchange(me(), at, expected, value, won, lost, weak && concurrent_)) {
    note(where, expected == hoped ? "compare-exchange, in vain" : "compare-exchange, fails", lost, expected,
         nullptr);
    return false;
  }
  wake_paused();
  note(where, "compare-exchange", won, hoped, &value);
  return true;
}

void execution::full_fence(place where) {
  if (left_out(where, operation::full_fence)) return;
  point();
  memory_.full_fence(me());
  if (how_.traced) note(where, "full fence", std::memory_order_seq_cst, 0, nullptr);
}

void execution::light_barrier(impl::barrier_kind kind, place where) {
  if (left_out(where, operation::light_barrier)) return;
  if (kind == impl::barrier_kind::symmetric) {
    point();
    memory_.full_fence(me());
  } else {
    memory_.light_barrier(me());
  }
  if (how_.traced) note(where, "light barrier", std::memory_order_seq_cst, 0, nullptr);
}

// Every other thread passes a fence, each at a moment of its own between call and return.
void execution::heavy_barrier(impl::barrier_kind kind, place where) {
  if (left_out(where, operation::heavy_barrier)) return;
  point();
  memory_.full_fence(me());
  if (how_.traced) note(where, "heavy barrier begins", std::memory_order_seq_cst, 0, nullptr);
  if (kind == impl::barrier_kind::symmetric || !concurrent_) return;
  thread_id others[max_threads];
  unsigned count = 0;
  for (std::size_t i = 1; i < live_; ++i) {
    if (i != running_) others[count++] = static_cast<thread_id>(i);
  }
  while (count != 0) {
    const unsigned first = oracle_.choose(count);
    std::swap(others[first], others[count - 1]);
    point();
    memory_.remote_fence(threads_[others[--count]].knows);
    if (how_.traced) note_text(std::string("  fence reaches ") + threads_[others[count]].called);
  }
  memory_.full_fence(me());
  if (how_.traced) note(where, "heavy barrier ends", std::memory_order_seq_cst, 0, nullptr);
}

// ---- plain data and the heap ---------------------------------------------------------------------------------------

std::uint32_t execution::make_cell(const void* self) {
  cell_state made;
  made.self = self;
  made.writer = running_;
  made.written = me().current.happened[running_];
  cells_.push_back(made);
  return static_cast<std::uint32_t>(cells_.size() - 1);
}

void execution::drop_cell(std::uint32_t cell, const void* self) noexcept {
  if (outcome_ != outcome::clean) return;
  if (cell >= cells_.size() || cells_[cell].self != self) return;
  touch_cell(cell, self, true);
  cells_[cell].self = nullptr;
}

void execution::touch_cell(std::uint32_t cell, const void* self, bool writes) {
  const char* const who = threads_[running_].called;
  if (cell >= cells_.size() || cells_[cell].self != self) fail("%s touches data that was destroyed", who);
  cell_state& c = cells_[cell];
  const clocks& before = me().current.happened;
  if (before[c.writer] < c.written) {
    fail("data race: %s %s what %s writes", who, writes ? "writes" : "reads", threads_[c.writer].called);
  }
  if (writes) {
    for (std::size_t i = 0; i < live_; ++i) {
      if (before[i] < c.read[i]) {
        fail("data race: %s writes what %s reads", who, threads_[i].called);
      }
    }
    c.writer = running_;
    c.written = before[running_];
  } else {
    c.read[running_] = before[running_];
  }
}

void* execution::allocate(std::size_t bytes, std::size_t alignment) {
  void* const at = ::operator new (bytes, std::align_val_t{alignment});
  blocks_.push_back({at, bytes, alignment, false});
  return at;
}

void execution::deallocate(void* at) {
  for (block& b : blocks_) {
    if (b.at != at) continue;
    if (b.freed) fail("memory is given back twice");
    b.freed = true;  // really freed after the execution, so that late readers are caught and not burnt
    return;
  }
  fail("memory is given back that allocate() did not give");
}

// ---- mutants and traces --------------------------------------------------------------------------------------------

std::memory_order execution::mutated(std::memory_order order, place where, operation what) {
  if (sites_ != nullptr && concurrent_) sites_->insert({where.file, where.line, what, order, order});
  if (!mutant_ || mutant_->line != where.line || mutant_->what != what || mutant_->from != order)
    return order;
  return mutant_->file == where.file ? mutant_->to : order;
}

bool execution::left_out(place where, operation what) {
  if (sites_ != nullptr && concurrent_) {
    sites_->insert({where.file, where.line, what, std::memory_order_seq_cst, std::memory_order_seq_cst});
  }
  return mutant_ && mutant_->line == where.line && mutant_->what == what && mutant_->file == where.file;
}

void execution::note(place where, const char* what, std::memory_order order, std::uint64_t value,
                     const std::uint64_t* after) {
  if (!how_.traced) return;
  char text[512];
  char values[64];
  if (after != nullptr) {
    std::snprintf(values, sizeof values, "%llx -> %llx", static_cast<unsigned long long>(value),
                  static_cast<unsigned long long>(*after));
  } else {
    std::snprintf(values, sizeof values, "%llx", static_cast<unsigned long long>(value));
  }
  std::snprintf(text, sizeof text, "%-10s %-24s %-8s %-16s %s:%u  %s", threads_[running_].called, what,
                name(order), values, short_file(where.file).c_str(), where.line,
                source_line(where.file, where.line).c_str());
  note_text(text);
}

void execution::note_text(const std::string& text) { trace_.push_back(text); }

}  // namespace weft::model
