// SPDX-License-Identifier: Apache-2.0

#include "model/memory.hpp"

#include <weft/detail/assert.hpp>

#include <algorithm>
#include <utility>

namespace weft::model {
namespace {

constexpr unsigned oldest_readable = 8;  // a load chooses among so many of the newest messages
constexpr stamp room_between = 8;
constexpr stamp last_stamp = 32'000;
constexpr std::uint8_t stale_in_a_row =
    3;  // then a thread sees the newest: stores become visible in finite time

}  // namespace

void memory::clear() {
  for (std::size_t i = 0; i < used_; ++i) history_[i].clear();
  used_ = 0;
  fenced_ = {};
  sc_stores_ = {};
  loads_.clear();
  candidates_.clear();
  debt_.reset();
  promised_ = false;
  spurious_failures_ = 0;
  moment_ = 0;
}

location_id memory::add(thread_memory& t, std::uint64_t value) {
  WEFT_CHECK(used_ < max_locations,
             "a model has more atomics than max_locations: shrink it, or raise the bound");
  if (used_ == history_.size()) history_.emplace_back().reserve(64);
  const auto at = static_cast<location_id>(used_++);
  message first;
  first.value = value;
  first.released = t.current;  // whoever gets hold of the object knows how it was made
  history_[at].push_back(first);
  return at;
}

stamp memory::floor(const thread_memory& t, location_id at, std::memory_order order) const {
  const stamp own = t.current.seen[at];
  if (order != std::memory_order_seq_cst) return own;
  return std::max({own, fenced_[at], sc_stores_[at]});
}

stamp memory::after(const message& last) const {
  if (last.at > last_stamp) host_.endless();
  return static_cast<stamp>(last.at + room_between);
}

stamp memory::between(const message& left, const message& right) {
  return static_cast<stamp>(left.at + (right.at - left.at) / 2);
}

// How many of the newest messages a load may choose from.
unsigned memory::readable(const thread_memory& t, location_id at, std::memory_order order,
                          unsigned most) const {
  if (t.stale[at] >= stale_in_a_row) return 1;
  const std::vector<message>& past = history_[at];
  const stamp oldest = floor(t, at, order);
  unsigned count = 1;
  while (count < most && count < past.size() && past[past.size() - 1 - count].at >= oldest) ++count;
  return count;
}

void memory::note_staleness(thread_memory& t, location_id at, std::size_t which) {
  last_was_stale_ = which + 1 < history_[at].size();
  t.stale[at] = last_was_stale_ ? static_cast<std::uint8_t>(t.stale[at] + 1) : std::uint8_t{0};
}

std::uint64_t memory::load(thread_memory& t, location_id at, std::memory_order order) {
  const std::vector<message>& past = history_[at];
  unsigned count = readable(t, at, order, oldest_readable);
  if (t.fresh > 0) {
    --t.fresh;
    count = 1;
  }
  const std::size_t position = host_.chooses->position();
  const choice& chosen = host_.chooses->choose_read(count);
  std::size_t which = 0;
  if (chosen.promised) {
    which = make_promise(t, at, promise(chosen.made));
  } else {
    which = past.size() - 1 - chosen.taken;
    if (past[which].promised && debt_->what.by == t.id) {
      host_.infeasible();  // its own store, which it has not made yet
    }
  }
  note_staleness(t, at, which);
  const std::uint64_t value = read(t, at, which, order);
  loads_.push_back({moment_, position, at, t.id, value});
  return value;
}

std::uint64_t memory::read(thread_memory& t, location_id at, std::size_t which, std::memory_order order) {
  ++moment_;
  ++t.operations;
  const message& m = history_[at][which];
  t.current.seen[at] = std::max(t.current.seen[at], m.at);
  t.acquired.join(m.released);
  if (acquires(order)) {
    t.current.join(m.released);
    blocks_promises(t);
  }
  return m.value;
}

void memory::store(thread_memory& t, location_id at, std::uint64_t value, std::memory_order order) {
  ++moment_;
  ++t.operations;
  if (keeps_promise(t, at, false)) return keep_promise(t, value, order);
  if (debt_ && debt_->what.by == t.id && debt_->at == at)
    host_.infeasible();  // a later store would come before it
  if (!releases(order)) look_for_promises(t, at, {t.id, t.operations, value, false});
  const std::size_t where = place_for(t, at, order);
  last_was_stale_ = where != history_[at].size();
  write(t, at, where, value, order, nullptr);
}

// Where in modification order a message may go: at the end, or before others that its thread does not know of.
memory::places memory::places_for(const thread_memory& t, location_id at, std::memory_order order) const {
  const std::vector<message>& past = history_[at];
  places found;
  found.add(past.size());
  if (order == std::memory_order_seq_cst) return found;
  for (std::size_t i = past.size();
       i-- > 1 && found.count < places::most && past[i].at > t.current.seen[at];) {
    const bool room = !past[i].follows && !past[i].promised && past[i].at - past[i - 1].at >= 2;
    if (room) found.add(i);
  }
  return found;
}

std::size_t memory::place_for(const thread_memory& t, location_id at, std::memory_order order) {
  const places where = places_for(t, at, order);
  return where.at[host_.chooses->choose(where.count)];
}

void memory::write(thread_memory& t, location_id at, std::size_t where, std::uint64_t value,
                   std::memory_order order, const view* sequence) {
  std::vector<message>& past = history_[at];
  message m;
  m.at = where == past.size() ? after(past.back()) : between(past[where - 1], past[where]);
  m.value = value;
  m.follows = sequence != nullptr;
  t.current.seen[at] = std::max(t.current.seen[at], m.at);
  t.acquired.seen[at] = std::max(t.acquired.seen[at], m.at);
  m.released = releases(order) ? t.current : t.released;
  m.released.seen[at] = m.at;  // V2
  if (sequence != nullptr) m.released.join(*sequence);
  if (order == std::memory_order_seq_cst) sc_stores_[at] = m.at;
  past.insert(past.begin() + static_cast<std::ptrdiff_t>(where), m);
  if (releases(order)) ++t.current.happened[t.id];  // what follows is not part of what was released
}

// Which messages a read-modify-write may read: those after which its own may go; or, if its thread has promised the write
// that follows another, that one.
memory::places memory::sources_for(const thread_memory& t, location_id at, std::memory_order order) const {
  places found;
  if (debt_ && debt_->what.by == t.id && debt_->at == at) {
    if (!debt_->what.follows || debt_->what.operation != t.operations + 1) host_.infeasible();
    found.add(promised_message() - 1);
    return found;
  }
  found = places_for(t, at, order);
  if (t.fresh > 0 || t.stale[at] >= stale_in_a_row) found.count = 1;
  for (unsigned i = 0; i < found.count; ++i) --found.at[i];
  return found;
}

std::size_t memory::choose_source(thread_memory& t, location_id at, std::memory_order order) {
  const places found = sources_for(t, at, order);
  return found.at[host_.chooses->choose(found.count)];
}

void memory::modify(thread_memory& t, location_id at, std::size_t source, std::uint64_t value,
                    std::memory_order order) {
  const std::size_t hoistable_since = t.hoistable_since;
  const bool newest = source + 1 == history_[at].size();
  if (!releases(order) && newest) look_for_promises(t, at, {t.id, t.operations + 1, value, true});
  note_staleness(t, at, source);
  read(t, at, source, order);
  if (keeps_promise(t, at, true)) {
    std::size_t& now = t.hoistable_since;
    const std::size_t after = std::exchange(now, hoistable_since);  // its own acquire does not hold it back
    keep_promise(t, value, order);
    now = after;
    return;
  }
  const view sequence = history_[at][source].released;  // a read-modify-write continues the release sequence
  write(t, at, source + 1, value, order, &sequence);
}

bool memory::compare_exchange(thread_memory& t, location_id at, std::uint64_t& expected, std::uint64_t value,
                              std::memory_order won, std::memory_order lost, bool weak) {
  const std::vector<message>& past = history_[at];
  const places sources = sources_for(t, at, won);
  places wins;
  for (unsigned i = 0; i < sources.count; ++i) {
    if (past[sources.at[i]].value == expected) wins.add(sources.at[i]);
  }
  const bool wins_first = wins.count > 0 && wins.at[0] == sources.at[0];  // the dull way: it reads the newest
  // What it may read and fail on: values that differ; for a weak one also, once in an execution, the expected one.
  std::array<std::size_t, 4> fails_on{};
  unsigned failures = 0;
  const unsigned count = readable(t, at, lost, fails_on.size());
  for (unsigned i = 0; i < count; ++i) {
    const message& m = past[past.size() - 1 - i];
    const bool spurious = m.value == expected;
    if (spurious && !(weak && i == 0 && spurious_failures_ == 0)) continue;
    if (!(m.promised && debt_->what.by == t.id)) fails_on[failures++] = past.size() - 1 - i;
  }
  if (failures + wins.count == 0)
    host_.infeasible();  // all it could read is its own store, which it has not made yet
  // In this order: what reads the newest, the failures, the ways to win behind the newest.
  const unsigned first = wins_first ? 1U : 0U;
  const unsigned chosen = host_.chooses->choose(failures + wins.count);
  if (chosen < first || chosen >= first + failures) {
    modify(t, at, wins.at[chosen < first ? 0 : chosen - failures], value, won);
    return true;
  }
  const std::size_t which = fails_on[chosen - first];
  note_staleness(t, at, which);
  const std::uint64_t found = read(t, at, which, lost);
  if (found == expected) ++spurious_failures_;
  expected = found;
  return false;
}

void memory::full_fence(thread_memory& t) {
  ++moment_;
  ++t.operations;
  t.current.join(t.acquired);
  t.current.seen.join(fenced_);
  t.current.seen.join(sc_stores_);
  fenced_.join(t.current.seen);
  t.acquired.join(t.current);
  t.released = t.current;
  ++t.current.happened[t.id];
  blocks_promises(t);
}

void memory::light_barrier(thread_memory& t) {
  t.current.seen.join(t.heavy);
  t.before_barrier = t.current.seen;
}

void memory::remote_fence(thread_memory& t) {
  fenced_.join(t.before_barrier);
  t.heavy.join(fenced_);
  t.heavy.join(sc_stores_);
}

void memory::start(thread_memory& child, const thread_memory& parent) {
  child.current = parent.current;
  child.acquired = parent.current;
  child.released = {};
  child.before_barrier = parent.current.seen;
  child.current.happened[child.id] = 1;
}

void memory::join(thread_memory& parent, const thread_memory& child) { parent.current.join(child.current); }

// From here on: promises.

// A store cannot be made before what its thread has acquired or fenced.
void memory::blocks_promises(thread_memory& t) { t.hoistable_since = moment_; }

// A store that releases nothing could have been made at any moment since hoistable_since; whoever has loaded the location
// since then could have read it.
void memory::look_for_promises(const thread_memory& t, location_id at, const promise& store) {
  if (promised_) return;
  for (std::size_t i = loads_.size(); i-- > 0 && loads_[i].moment > t.hoistable_since;) {
    const past_load& l = loads_[i];
    if (l.at == at && l.by != t.id && l.value != store.value) candidates_.push_back({l.position, store});
  }
}

std::size_t memory::make_promise(const thread_memory& t, location_id at, const promise& p) {
  if (p.by == t.id || promised_) host_.infeasible();
  promised_ = true;
  std::vector<message>& past = history_[at];
  message m;
  m.at = after(past.back());
  m.value = p.value;
  m.released = host_.thread(p.by).released;
  if (p.follows) m.released.join(past.back().released);
  m.released.seen[at] = m.at;  // V2
  m.follows = p.follows;
  m.promised = true;
  past.push_back(m);
  debt_ = debt{p, at, moment_};
  return past.size() - 1;
}

// The message that is owed. There is one.
std::size_t memory::promised_message() const {
  const std::vector<message>& past = history_[debt_->at];
  std::size_t k = past.size() - 1;
  while (!past[k].promised) --k;
  return k;
}

// Whether the operation that `t` is making is the one that somebody has relied upon.
bool memory::keeps_promise(const thread_memory& t, location_id at, bool follows) const {
  return debt_ && debt_->what.by == t.id && debt_->at == at && debt_->what.follows == follows &&
         debt_->what.operation == t.operations;
}

// Makes good. If it was not to be foreseen after all, the execution is impossible.
void memory::keep_promise(thread_memory& t, std::uint64_t value, std::memory_order order) {
  message& m = history_[debt_->at][promised_message()];
  const bool kept = m.value == value && !releases(order) && t.hoistable_since <= debt_->made &&
                    t.current.seen[debt_->at] < m.at;
  if (!kept) host_.infeasible();
  m.promised = false;
  t.current.seen[debt_->at] = m.at;
  debt_.reset();
}

}  // namespace weft::model
