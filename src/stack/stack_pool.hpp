// SPDX-License-Identifier: Apache-2.0
//
// stack_pool — where stacks come from and go back to.
//
// A stack that comes back is kept warm, up to a bound, and handed out again newest first; beyond the bound its
// memory goes back to the kernel and only the address space stays. Workers do not come here for each stack:
// they keep some spare ones.
//
// Thread safety: any thread. The lock is held for list operations, not while a stack is guarded or discarded;
//                the rare new slab, and release_unused(), talk to the kernel under it.
// Invariants:   SP1  every slot ever handed out is in exactly one place: taken, warm or cold
//               SP2  a slot is handed out guarded, always
//               SP3  a cold slot has no memory behind it
#pragma once

#include "arch/sanitizer.hpp"
#include "base/intrusive_list.hpp"
#include "stack/guard.hpp"
#include "stack/registry.hpp"
#include "stack/slab.hpp"
#include "sys/platform.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::impl {

/// A chain of slots, newest first.
using slot_chain = intrusive_lifo<stack_slot, &stack_slot::next>;

struct stack_pool_options {
  /// How many stacks of each size keep their memory while nobody uses them.
  std::size_t warm_limit = 1024;
  /// Whether what a fiber left on its stack is erased before another gets it.
  bool scrub = false;
};

/// What a pool holds, at one moment.
struct stack_pool_stats {
  std::size_t taken = 0;           // in the hands of fibers and workers
  std::size_t warm = 0;            // free, memory kept
  std::size_t cold = 0;            // free, memory returned
  std::size_t slabs = 0;           // mappings, as long as guards are light
  std::size_t reserved_bytes = 0;  // address space
};

template <platform Platform>
class basic_stack_pool {
  using memory = typename Platform::memory;
  using mutex = typename Platform::mutex;

 public:
  using options = stack_pool_options;

  explicit basic_stack_pool(options how = {}) noexcept
      : options_(how), guards_(probe_guard_method<memory>()) {}
  basic_stack_pool(const basic_stack_pool&) = delete;
  basic_stack_pool& operator=(const basic_stack_pool&) = delete;

  /// All stacks must be back.
  ~basic_stack_pool() {
    const scoped_hold hold(mutex_);
    for (shelf& s : shelves_) {
      WEFT_CHECK(s.taken == 0, "SP1: a stack pool was destroyed while stacks were in use");
      while (s.slabs != nullptr) release_slab(s, s.slabs);
    }
  }

  /// The class that stacks of the class asked for really come from: one of at least a page, where pages are
  /// larger than the smallest stacks (16 and 64 KiB on some aarch64 systems).
  [[nodiscard]] static stack_class fitting(stack_class asked) noexcept {
    const auto whole_page = stack_class::holding(std::max(memory::page_size(), stack_class::smallest));
    return std::max(asked, whole_page.value_or(asked));
  }

  /// Takes a guarded stack.
  ///
  /// Returns: the stack; errc::out_of_stacks without address space, errc::mapping_limit without a guard.
  [[nodiscard]] result<stack_slot*> take(stack_class size_class) noexcept WEFT_EXCLUDES(mutex_) {
    slot_chain one;
    if (result<void> taken = take_batch(size_class, 1, one); !taken) return taken.error();
    return one.try_pop();
  }

  /// Takes up to `wanted` stacks onto `chain`: at least one, or an error.
  [[nodiscard]] result<void> take_batch(stack_class size_class, std::size_t wanted,
                                        slot_chain& chain) noexcept WEFT_EXCLUDES(mutex_) {
    const stack_class from = fitting(size_class);
    if (take_guarded(from, wanted, chain) != 0) return {};
    result<stack_slot*> slot = take_one(from);
    if (slot && !(*slot)->guard) slot = guarded_or_back(**slot);  // SP2
    if (!slot) return slot.error();
    chain.push(**slot);
    if (wanted > 1) (void)take_guarded(from, wanted - 1, chain);  // of those that were guarded with it
    return {};
  }

  /// Gives a stack back. Nothing runs on it any more.
  void give(stack_slot& slot) noexcept WEFT_EXCLUDES(mutex_) {
    slot_chain one;
    one.push(slot);
    give_batch(one);
  }

  /// The same for several.
  void give_batch(slot_chain& chain) noexcept WEFT_EXCLUDES(mutex_) {
    slot_chain cooling = keep_warm(chain);
    while (stack_slot* const slot = cooling.try_pop()) (void)cool_one(*slot);
  }

  /// Whether more free stacks than that keep their memory, of all sizes together.
  [[nodiscard]] bool has_warm_approx(std::size_t more_than) const noexcept {
    return warm_.load(std::memory_order_relaxed) > more_than;  // relaxed: a hint
  }

  /// Gives the memory of free stacks back, of up to `most` of those that a size has beyond `keep`: for who has nothing better
  /// to do. Returns how many have become cold.
  std::size_t cool(std::size_t keep, std::size_t most) noexcept WEFT_EXCLUDES(mutex_) {
    slot_chain cooling = take_warm(keep, most);
    std::size_t cooled = 0;
    while (stack_slot* const slot = cooling.try_pop()) {
      if (cool_one(*slot)) ++cooled;
    }
    return cooled;
  }

  /// Gives the memory of all free stacks back, and the address space of slabs that have no stack in use.
  void release_unused() noexcept WEFT_EXCLUDES(mutex_) {
    const scoped_hold hold(mutex_);
    for (shelf& s : shelves_) cool_down(s);
  }

  [[nodiscard]] stack_pool_stats stats() noexcept WEFT_EXCLUDES(mutex_) {
    const scoped_hold hold(mutex_);
    stack_pool_stats sum;
    for (const shelf& s : shelves_) {
      sum.taken += s.taken;
      sum.warm += s.warm.size();
      sum.cold += s.cold.size();
      for (const slab* at = s.slabs; at != nullptr; at = at->next) {
        ++sum.slabs;
        sum.reserved_bytes += at->bytes;
      }
    }
    return sum;
  }

  [[nodiscard]] guard_method guards() const noexcept { return guards_; }

 private:
  // Slabs grow fourfold, so that few of them hold many stacks, within bounds.
  static constexpr std::size_t first_slab_stacks = 64;
  static constexpr std::size_t least_slab_stacks = 4;
  static constexpr std::size_t most_slab_stacks = std::size_t{1} << 20U;
  static constexpr std::size_t most_slab_bytes = std::size_t{1} << 40U;

  /// Whether guarding several at a time works here.
  enum class trust : std::uint8_t { untried, proven, refused };

  // All stacks of one size.
  struct shelf {
    slot_chain warm;
    slot_chain cold;
    slab* slabs = nullptr;  // newest first; only the newest may have slots never used
    std::size_t taken = 0;
  };

  // Those that are free and guarded, newest first. Returns how many.
  std::size_t take_guarded(stack_class size_class, std::size_t wanted, slot_chain& chain) noexcept
      WEFT_EXCLUDES(mutex_) {
    const scoped_hold hold(mutex_);
    shelf& s = shelves_[size_class.index()];
    slot_chain unguarded;
    slot_chain found;
    while (found.size() < wanted) {
      stack_slot* const slot = pop_free(s);
      if (slot == nullptr) break;
      if (slot->guard) mark_taken(s, *slot);
      (slot->guard ? found : unguarded).push(*slot);
    }
    const std::size_t taken = found.size();
    move_over(unguarded, s.cold);
    move_over(found, chain);
    return taken;
  }

  // One after the other, so that their order is turned round.
  static void move_over(slot_chain& from, slot_chain& to) noexcept {
    while (stack_slot* const slot = from.try_pop()) to.push(*slot);
  }

  [[nodiscard]] result<stack_slot*> take_one(stack_class size_class) noexcept WEFT_EXCLUDES(mutex_) {
    const scoped_hold hold(mutex_);
    shelf& s = shelves_[size_class.index()];
    stack_slot* slot = pop_free(s);
    if (slot == nullptr) {
      result<stack_slot*> fresh = fresh_slot(s, size_class);
      if (!fresh) return fresh.error();
      slot = *fresh;
    }
    mark_taken(s, *slot);
    return slot;
  }

  void mark_taken(shelf& s, stack_slot& slot) noexcept WEFT_REQUIRES(mutex_) {
    WEFT_CHECK(!slot.taken, "SP1: a stack that is in use was in a free list");
    slot.taken = true;
    ++s.taken;
    ++slab_of(slot).live;
  }

  [[nodiscard]] stack_slot* pop_free(shelf& s) noexcept WEFT_REQUIRES(mutex_) {
    stack_slot* const warm = pop_warm(s);
    return warm != nullptr ? warm : s.cold.try_pop();
  }
  [[nodiscard]] stack_slot* pop_warm(shelf& s) noexcept WEFT_REQUIRES(mutex_) {
    stack_slot* const slot = s.warm.try_pop();
    if (slot != nullptr) count_warm(-1);
    return slot;
  }
  void count_warm(std::ptrdiff_t change) noexcept WEFT_REQUIRES(mutex_) {
    // relaxed: a hint for those without the lock
    warm_.store(warm_.load(std::memory_order_relaxed) + static_cast<std::size_t>(change),
                std::memory_order_relaxed);
  }

  [[nodiscard]] slot_chain take_warm(std::size_t keep, std::size_t most) noexcept WEFT_EXCLUDES(mutex_) {
    slot_chain taken;
    const scoped_hold hold(mutex_);
    for (shelf& s : shelves_) {
      while (s.warm.size() > keep && taken.size() < most) {
        stack_slot& slot = *pop_warm(s);
        mark_taken(s, slot);
        taken.push(slot);
      }
    }
    return taken;
  }

  // A slot never used before, in the newest slab or in a new one.
  [[nodiscard]] result<stack_slot*> fresh_slot(shelf& s, stack_class size_class) noexcept
      WEFT_REQUIRES(mutex_) {
    if (s.slabs == nullptr || s.slabs->used == s.slabs->count) {
      const std::size_t wanted = s.slabs == nullptr ? first_slab_stacks : s.slabs->count * 4;
      if (result<void> grown = grow(s, size_class, wanted); !grown) return grown.error();
    }
    return &new_slot(*s.slabs, size_class);
  }
  [[nodiscard]] stack_slot& new_slot(slab& in, stack_class size_class) noexcept WEFT_REQUIRES(mutex_) {
    const std::size_t index = in.used++;
    auto* const slot = new (&in.slots()[index]) stack_slot;
    slot->low = in.guard_of(index) + guard_bytes;
    slot->size_class = size_class;
    slot->valgrind_id = register_stack(slot->low, slot->high());
    return *slot;
  }

  // Adds a slab of `wanted` stacks, or of as many as the system will give.
  [[nodiscard]] result<void> grow(shelf& s, stack_class size_class, std::size_t wanted) noexcept
      WEFT_REQUIRES(mutex_) {
    const std::size_t page = memory::page_size();
    std::size_t count =
        std::min({wanted, most_slab_stacks, most_slab_bytes / (guard_bytes + size_class.bytes())});
    for (; count >= least_slab_stacks; count /= 4) {
      const std::size_t bytes = slab::bytes_for(count, size_class, page);
      const result<void*> at = memory::reserve(bytes);
      if (!at) continue;
      slab* const made = slab::make(*at, count, size_class, page);
      if (result<void> registered = process_slabs.add(*made); !registered) {
        memory::release(*at, bytes);
        return registered.error();
      }
      made->next = s.slabs;
      s.slabs = made;
      return {};
    }
    return errc::out_of_stacks;
  }

  // New stacks are guarded several at a time, the more of them there are, since the system call costs as much as the guard. Those that
  // nobody has asked for yet are cold. Returns whether this one is guarded.
  [[nodiscard]] bool try_guard_with_others(stack_slot& slot) noexcept WEFT_EXCLUDES(mutex_) {
    // relaxed: seen late, tried in vain.
    if (guards_ != guard_method::light || together_.load(std::memory_order_relaxed) == trust::refused)
      return false;
    std::array<stack_slot*, most_guarded_together> slots{&slot};
    const std::size_t count = 1 + carve_ahead(slot.size_class, std::span(slots).subspan(1));
    if (count == 1) return false;
    const std::size_t guarded = guard_each(std::span(slots).first(count));
    const scoped_hold hold(mutex_);
    for (std::size_t i = count; i-- > 0;) {  // the lowest comes first
      if (i < guarded) slots[i]->guard = guard_method::light;
      if (i != 0) put_back(*slots[i], false);
    }
    return guarded != 0;
  }
  [[nodiscard]] std::size_t carve_ahead(stack_class size_class, std::span<stack_slot*> into) noexcept
      WEFT_EXCLUDES(mutex_) {
    const scoped_hold hold(mutex_);
    shelf& s = shelves_[size_class.index()];
    slab& newest = *s.slabs;
    const std::size_t count = std::min({newest.used / 8, newest.count - newest.used, into.size()});
    for (std::size_t i = 0; i < count; ++i) {
      into[i] = &new_slot(newest, size_class);
      mark_taken(s, *into[i]);
    }
    return count;
  }
  // Returns how many, from the first on. The kernel is believed once it was proven right, and not asked again once it has failed: what
  // is carved in vain stays unguarded, and would become more and more.
  [[nodiscard]] std::size_t guard_each(std::span<stack_slot* const> slots) noexcept {
    std::array<void*, most_guarded_together> places{};
    for (std::size_t i = 0; i < slots.size(); ++i) places[i] = slots[i]->low - guard_bytes;
    const std::size_t guarded = memory::guard_light_each(std::span(places).first(slots.size()), guard_bytes);
    const bool is_proven = together_.load(std::memory_order_relaxed) == trust::proven;
    if (WEFT_LIKELY(is_proven && guarded == slots.size())) return guarded;
    const bool holds =
        guarded != 0 && memory::guard_holds(places[0]) && memory::guard_holds(places[guarded - 1]);
    const bool goes_on = holds && guarded == slots.size();
    together_.store(goes_on ? trust::proven : trust::refused, std::memory_order_relaxed);
    return holds ? guarded : 0;
  }

  // Guards a slot outside the lock; on failure the slot goes back, still to be guarded when it comes again.
  [[nodiscard]] result<stack_slot*> guarded_or_back(stack_slot& slot) noexcept WEFT_EXCLUDES(mutex_) {
    if (try_guard_with_others(slot)) return &slot;
    const result<guard_method> made = install_guard<memory>(guards_, slot.low - guard_bytes, split_limit_);
    if (made) {
      slot.guard = *made;
      return &slot;
    }
    const scoped_hold hold(mutex_);
    put_back(slot, false);  // never touched, so cold (SP3)
    return made.error();
  }

  void put_back(stack_slot& slot, bool warm) noexcept WEFT_REQUIRES(mutex_) {
    WEFT_CHECK(slot.taken, "SP1: a stack was given back twice");
    shelf& s = shelves_[slot.size_class.index()];
    slot.taken = false;
    --s.taken;
    --slab_of(slot).live;
    (warm ? s.warm : s.cold).push(slot);
    if (warm) count_warm(1);
  }

  // Puts a stack back that was taken, without its memory if the kernel takes that; returns whether it does. The system call is made
  // without the lock.
  [[nodiscard]] bool cool_one(stack_slot& slot) noexcept WEFT_EXCLUDES(mutex_) {
    const bool discarded = memory::discard(slot.low, slot.size()).has_value();
    if (!discarded && options_.scrub) erase(slot);
    const scoped_hold hold(mutex_);
    put_back(slot, !discarded);  // SP3
    return discarded;
  }

  // Returns those that there is no room for. A pool that scrubs keeps nothing warm: pages given back are zero when they come again, and
  // the kernel erases them no slower than we would.
  [[nodiscard]] slot_chain keep_warm(slot_chain& chain) noexcept WEFT_EXCLUDES(mutex_) {
    slot_chain oldest_first;
    move_over(chain, oldest_first);
    slot_chain others;
    const scoped_hold hold(mutex_);
    while (stack_slot* const slot = oldest_first.try_pop()) {
      // relaxed: nobody runs on the stack, so no fault handler of it can look.
      slot->owner.store(nullptr, std::memory_order_relaxed);
      if (options_.scrub || shelves_[slot->size_class.index()].warm.size() >= options_.warm_limit) {
        others.push(*slot);
        continue;
      }
      put_back(*slot, true);
    }
    return others;
  }

  // SP3: the warm become cold; slabs without a stack in use go.
  void cool_down(shelf& s) noexcept WEFT_REQUIRES(mutex_) {
    slot_chain kept;
    while (stack_slot* slot = pop_warm(s)) {
      if (slab_of(*slot).live == 0) continue;  // goes with its slab
      if (memory::discard(slot->low, slot->size())) {
        s.cold.push(*slot);
      } else {
        kept.push(*slot);
      }
    }
    while (stack_slot* slot = kept.try_pop()) {
      s.warm.push(*slot);
      count_warm(1);
    }
    while (stack_slot* slot = s.cold.try_pop()) {
      if (slab_of(*slot).live != 0) kept.push(*slot);
    }
    while (stack_slot* slot = kept.try_pop()) s.cold.push(*slot);
    for (slab* at = s.slabs; at != nullptr;) {
      slab* const next = at->next;
      if (at->live == 0) release_slab(s, at);
      at = next;
    }
  }

  void release_slab(shelf& s, slab* gone) noexcept WEFT_REQUIRES(mutex_) {
    slab** link = &s.slabs;
    while (*link != gone) link = &(*link)->next;
    *link = gone->next;
    process_slabs.remove(*gone);
    std::size_t split = 0;
    for (std::size_t i = 0; i < gone->used; ++i) {
      unregister_stack(gone->slots()[i].valgrind_id);
      if (gone->slots()[i].guard == guard_method::protection) ++split;
    }
    split_guards.fetch_sub(split, std::memory_order_relaxed);
    memory::release(gone, gone->bytes);
  }

  [[nodiscard]] slab& slab_of(const stack_slot& slot) noexcept WEFT_REQUIRES(mutex_) {
    for (slab* at = shelves_[slot.size_class.index()].slabs;; at = at->next) {
      WEFT_CHECK(at != nullptr, "SP1: a stack was given to a pool that it is not from");
      if (at->index_of(slot.low) < at->count) return *at;
    }
  }

  // Where the kernel would not discard.
  static void erase(stack_slot& slot) noexcept { std::fill(slot.low, slot.high(), char{0}); }

  // Immutable after construction.
  const options options_;
  const guard_method guards_;
  const std::size_t split_limit_ = split_guard_limit<memory>();

  std::atomic<trust> together_{trust::untried};  // relaxed throughout: each may find out by itself

  mutex mutex_;
  std::atomic<std::size_t> warm_{0};  // of all sizes; written under the lock
  std::array<shelf, stack_class::count> shelves_ WEFT_GUARDED_BY(mutex_);
};

/// The pool of the shipping library.
using stack_pool = basic_stack_pool<default_platform>;
extern template class basic_stack_pool<default_platform>;

}  // namespace weft::impl
