// SPDX-License-Identifier: Apache-2.0
//
// work_deque — a worker's own queue of what is ready to run, from which others may take the oldest.
//
// The owner pushes and pops at the new end. That is what spawn and join cost, so it pays for nothing but plain loads
// and stores: no read-modify-write, no fence, and push does not even look at the old end. A thief stands at the old end,
// one at a time, and takes several at once:
//
//   - It asks. The owner looks between two pieces of work whether somebody asks, and grants it the oldest half by one
//     compare-exchange. No heavy barrier is paid by anyone.
//   - It claims them by itself when the owner is too busy to answer. That takes one heavy barrier for all of them.
//
// Either way the thief then holds a claim: it copies the words into its own deque and settles. Until it has settled,
// the owner may revoke the claim by one compare-exchange when it needs what is claimed, and so may another thief who has
// waited for too long. So a thief that has lost its processor never holds up the owner, and other thieves not for long.
//
// One rule says what may leave together: a join alone, anything else up to the next join.
//
// src/queue/README-work-deque.md has the protocol and why nothing is lost or run twice.
//
// Thread safety: the owner's end by the owner only; the thief's end by anyone with a thief_id of its own.
// Invariants:   WD1  outside of pop: head <= bottom <= limit <= head + capacity (as distances; indices wrap)
//               WD2  slots in [head, bottom) hold what was pushed and not yet taken
//               WD3  head never goes back
//               WD4  what a word points to is touched by nobody who has not taken the word out
#pragma once

#include <weft/detail/assert.hpp>
#include <weft/detail/atomics.hpp>
#include <weft/detail/cache_line.hpp>
#include <weft/detail/top_word.hpp>
#include <weft/detail/work_ring.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::detail {

/// What makes the protocol hold. A test that wants to see it break derives from this and changes one line.
struct work_deque_rules {
  // [WD-publish] Who sees bottom above a slot sees what was pushed into it.
  static constexpr std::memory_order publish = std::memory_order_release;
  static constexpr std::memory_order look = std::memory_order_acquire;
  // [WD-grant] Who sees that it is granted something sees what was pushed.
  static constexpr std::memory_order grant = std::memory_order_release;
  static constexpr std::memory_order watch = std::memory_order_acquire;
  // [WD-copied] Who sees that a thief has settled writes a slot after the thief has read it.
  static constexpr std::memory_order settle = std::memory_order_release;
  static constexpr std::memory_order reuse = std::memory_order_acquire;
  // [WD-race] Either the owner sees a claim on what it pops, or the thief sees that it is gone.
  static constexpr bool owner_has_barrier = true;
  static constexpr bool thief_has_barrier = true;

  /// Slots before this index are free to be written again.
  [[nodiscard]] static constexpr std::uint32_t reusable_before(top_word top) noexcept { return top.head(); }
};

struct work_deque_options {
  std::uint32_t capacity = 256;         ///< slots to begin with: a power of two
  std::uint32_t most = 512;             ///< no more leave together
  std::uint32_t least_after_push = 64;  ///< no fewer are granted while the owner goes on pushing
  std::uint32_t first_index = 0;        ///< where counting begins; a test begins just before the indices wrap
};

template <class Platform, class Rules = work_deque_rules>
class basic_work_deque {
 public:
  explicit basic_work_deque(barrier_kind barriers, work_deque_options options = {}) noexcept
      : bottom_(options.first_index),
        limit_(options.first_index),
        first_capacity_(options.capacity),
        most_(options.most),
        least_after_push_(options.least_after_push),
        barriers_(barriers),
        quiet_(barriers == barrier_kind::asymmetric ? 0 : asked_for),
        attention_(quiet_),
        top_(top_word::settled(options.first_index).word()) {
    WEFT_CHECK(std::has_single_bit(options.capacity) && options.capacity <= most_capacity,
               "the capacity of a deque is a power of two, up to 2^30");
    WEFT_CHECK(options.most > 0 && options.most <= top_word::most_claimed, "a claim has a 16-bit count");
  }
  basic_work_deque(const basic_work_deque&) = delete;
  basic_work_deque& operator=(const basic_work_deque&) = delete;
  ~basic_work_deque() { ring::free_chain(ring_.load(std::memory_order_relaxed)); }  // relaxed: nobody is left

  // -- The owner's end ------------------------------------------------------------------------------------------

  /// Adds the newest.
  ///
  /// Returns: false when there is no memory to grow with; nothing was added then.
  [[nodiscard]] bool push(runnable r) noexcept {
    const std::uint32_t at = bottom_.load(std::memory_order_relaxed);  // relaxed: the owner's own
    if (!WEFT_LIKELY(at != limit_) && !make_room(1)) return false;
    write(at, r);
    bottom_.store(at + 1, Rules::publish);  // [WD-publish] pairs with the look in finish_claim()
    return true;
  }

  /// The shortest way to add the newest, for what is inlined: fails, and has done nothing, where there is anything else to be
  /// done than that. Then push() does it, and see_to_thieves() after it.
  [[nodiscard]] bool try_push_quietly(runnable r) noexcept {
    const std::uint32_t at = bottom_.load(std::memory_order_relaxed);  // relaxed: the owner's own
    // relaxed: a hint; a thief that is seen late is answered late.
    if (!WEFT_LIKELY(attention_.load(std::memory_order_relaxed) == 0 && at != limit_)) return false;
    write(at, r);
    bottom_.store(at + 1, Rules::publish);  // [WD-publish]
    return true;
  }

  /// Follows a push that was not quiet: answers a thief, if there is one.
  void see_to_thieves() noexcept {
    if (asked()) return answer_after_push();
    pushes_asked_ = 0;
    // relaxed: one that asks just now, and whose mark is overwritten, loses patience and takes by itself.
    attention_.store(quiet_, std::memory_order_relaxed);
  }

  /// From now on, until see_to_thieves(), no push is quiet.
  void disturb() noexcept {
    attention_.store(asked_for, std::memory_order_relaxed);
  }  // relaxed: by the owner

  /// Takes the newest; empty when there is none.
  [[nodiscard]] runnable pop() noexcept {
    const std::uint32_t at = bottom_.load(std::memory_order_relaxed) - 1;  // relaxed: the owner's own
    return retreat_to(at) ? read(at) : runnable();
  }

  /// Takes the newest if it is this very one; used by join to take back what it pushed.
  ///
  /// Returns: false if it was taken, or something newer lies above it.
  [[nodiscard]] bool pop_if(runnable r) noexcept {
    const std::uint32_t at = bottom_.load(std::memory_order_relaxed) - 1;  // relaxed: the owner's own
    // A slot that was emptied may still hold the word; retreat_to() finds the deque empty then.
    return read(at) == r && retreat_to(at);
  }

  /// Takes the oldest; empty when there is none. Costs a compare-exchange.
  [[nodiscard]] runnable pop_oldest() noexcept {
    const std::uint32_t bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: the owner's own
    std::uint64_t seen = top_.load(std::memory_order_relaxed);             // relaxed: the exchange decides
    for (;;) {
      const top_word top = top_word::from_word(seen);
      const std::uint32_t head = top.head();
      if (head == bottom) return {};
      const runnable oldest = read(head);
      const top_word rest = top_word::asked(head + 1, top.is_asked() ? top.by() : thief_id{});
      // relaxed: nothing is handed on, and a thief learns what lies beyond from bottom or from a grant.
      const bool taken = top_.compare_exchange_strong(seen, rest.word(), std::memory_order_relaxed,
                                                      std::memory_order_relaxed);
      if (taken) return oldest;
    }
  }

  /// What pop() would give after `skipped` others, to prefetch by. Only a guess: it may be gone.
  [[nodiscard]] runnable guess(std::uint32_t skipped) const noexcept {
    return read(bottom_.load(std::memory_order_relaxed) - 1 - skipped);  // relaxed: the owner's own
  }

  /// How many there are. Thieves may take some at any time.
  [[nodiscard]] std::uint32_t size() const noexcept {
    const std::uint32_t bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: the owner's own
    const top_word top = peek_top();
    return bottom - top.head();
  }

  /// Whether a thief waits for an answer. One load of a line that pop() reads as well: to be asked after a push, and
  /// between two pieces of work.
  [[nodiscard]] bool asked() const noexcept { return peek_top().is_asked(); }

  /// Answers a thief after a push. The owner may be about to push many more: so it gives nothing before it has plenty,
  /// except a join that is not the newest, which is always worth having. If it has pushed so many since it was asked that it
  /// would have plenty, it takes back what it pushes, as joins do: then it gives what there is.
  void answer_after_push() noexcept {
    const bool takes_back = ++pushes_asked_ >= 2 * least_after_push_;
    if (grant(takes_back ? 1 : least_after_push_, 1)) pushes_asked_ = 0;
  }

  /// Answers a thief between two pieces of work. The owner has one in hand, so it gives whatever it can.
  void answer_between() noexcept {
    (void)grant(1, 0);
    pushes_asked_ = 0;
  }

  // -- The thief's end ------------------------------------------------------------------------------------------

  /// How many there seem to be.
  [[nodiscard]] std::uint32_t size_approx() const noexcept {
    const top_word top = peek_top();
    const std::uint32_t bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: a guess
    return static_cast<std::uint32_t>(std::max(0, index_distance(top.head(), bottom)));
  }

  /// The index that the next push will have, more or less: two looks tell how busy the owner was between them.
  [[nodiscard]] std::uint32_t next_index_approx() const noexcept {
    return bottom_.load(std::memory_order_relaxed);  // relaxed: a guess
  }

  /// Who stands here, and how. To be watched by a thief that has asked, until it is granted a claim; if the word names
  /// another, or nobody, its turn is over.
  [[nodiscard]] top_word at_door() const noexcept {
    return top_word::from_word(top_.load(Rules::watch));  // [WD-grant] pairs with grant()
  }

  /// Asks the owner for work.
  ///
  /// A thief that stands here already is in the way, unless its word is `broken`: one that the caller has seen for
  /// far longer than a thief needs.
  ///
  /// Returns: false if a thief is in the way.
  [[nodiscard]] bool ask(thief_id who, top_word broken = {}) noexcept {
    WEFT_CHECK(who != thief_id{}, "a thief has a name; zero is nobody's");
    std::uint64_t seen = top_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    const top_word top = top_word::from_word(seen);
    if (!top.is_settled() && top != broken) return false;
    const top_word asks = top_word::asked(top.head(), who);
    // relaxed: an owner that sees it late answers late.
    const bool asking =
        top_.compare_exchange_strong(seen, asks.word(), std::memory_order_relaxed, std::memory_order_relaxed);
    if (asking) attention_.store(asked_for, std::memory_order_relaxed);  // relaxed: a hint
    return asking;
  }

  /// Leaves, and gives up a claim that was granted. To be called by a thief that has asked and will not take.
  void withdraw(thief_id who) noexcept {
    std::uint64_t seen = top_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    while (top_word::from_word(seen).by() == who) {
      const top_word left = top_word::settled(top_word::from_word(seen).head());
      // relaxed: nothing was copied.
      const bool gone =
          top_.compare_exchange_weak(seen, left.word(), std::memory_order_relaxed, std::memory_order_relaxed);
      if (gone) return;
    }
  }

  /// Moves what a claim is for into the caller's own deque, in the same order, and leaves.
  ///
  /// Returns: how many came; none if the claim was revoked.
  std::uint32_t take(top_word claim, basic_work_deque& into) noexcept {
    return take(claim, claim.count(), into);
  }

  /// Takes up to `most` without asking (and no more than the options say): half of what there is, or the oldest if that
  /// is a join. Costs a heavy barrier, unless it looks as if there were nothing to take, or another thief is in the way.
  /// A thief that has asked may lose patience and call this; it has left when this returns.
  ///
  /// Returns: how many came.
  std::uint32_t steal(thief_id who, basic_work_deque& into, std::uint32_t most) noexcept {
    const std::optional<top_word> claim = begin_claim(who, most);
    if (!claim) {
      withdraw(who);
      return 0;
    }
    if constexpr (Rules::thief_has_barrier) Platform::heavy_barrier(barriers_);
    return finish_claim(*claim, into);
  }
  std::uint32_t steal(thief_id who, basic_work_deque& into) noexcept { return steal(who, into, most_); }

  /// The first half of steal(). Before the second the thief passes a heavy barrier.
  [[nodiscard]] std::optional<top_word> begin_claim(thief_id who, std::uint32_t most) noexcept {
    // relaxed, all of it: a guess, which the exchange and the look in finish_claim() put right.
    std::uint64_t seen = top_.load(std::memory_order_relaxed);
    const top_word top = top_word::from_word(seen);
    if (top.is_claimed() || (top.is_asked() && top.by() != who)) return std::nullopt;
    const std::uint32_t head = top.head();
    const std::int32_t there = index_distance(head, bottom_.load(std::memory_order_relaxed));
    if (there <= 0 || most == 0) return std::nullopt;
    const std::uint32_t half = (static_cast<std::uint32_t>(there) + 1) / 2;
    const std::uint32_t count = seems_join(head) ? 1 : std::min({most, most_, half});
    const top_word wanted = top_word::claimed(head, count, who);
    // relaxed: the heavy barrier that follows makes the owner see it. The thief's half of [WD-race]
    const bool ours = top_.compare_exchange_strong(seen, wanted.word(), std::memory_order_relaxed,
                                                   std::memory_order_relaxed);
    return ours ? std::optional(wanted) : std::nullopt;
  }

  /// The second half of steal(): looks how much of the claim is still there, and takes it.
  std::uint32_t finish_claim(top_word claim, basic_work_deque& into) noexcept {
    const std::uint32_t bottom = bottom_.load(Rules::look);  // [WD-publish]; and it ends [WD-race]
    const std::int32_t there = std::max(0, index_distance(claim.head(), bottom));
    return take(claim, std::min(claim.count(), static_cast<std::uint32_t>(there)), into);
  }

 private:
  using ring = basic_work_ring<Platform>;
  using slot = typename ring::slot;

  static constexpr std::uint32_t asked_for = 1;
  static constexpr std::uint32_t most_capacity = std::uint32_t{1} << 30U;

  [[nodiscard]] static bool is_join(runnable r) noexcept { return r.what() == runnable::kind::join; }

  // relaxed: what is done upon it is decided by an exchange, or harmless.
  [[nodiscard]] top_word peek_top() const noexcept {
    return top_word::from_word(top_.load(std::memory_order_relaxed));
  }

  // The owner's slots. relaxed: its own stores; a thief orders its loads by [WD-publish] or [WD-grant].
  [[nodiscard]] runnable read(std::uint32_t index) const noexcept {
    return runnable::from_word(slots_[index & mask_].load(std::memory_order_relaxed));
  }
  void write(std::uint32_t index, runnable r) noexcept {
    slots_[index & mask_].store(r.word(), std::memory_order_relaxed);
  }

  // Grants the thief that asks the oldest half, or the oldest if that is a join; nothing if no more than `keep` are there,
  // or fewer than `least` could go. Then the thief goes on asking. Returns whether it was granted something.
  [[nodiscard, gnu::noinline]] bool grant(std::uint32_t least, std::uint32_t keep) noexcept {
    std::uint64_t seen = top_.load(std::memory_order_relaxed);             // relaxed: the exchange decides
    const std::uint32_t bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: the owner's own
    const top_word top = top_word::from_word(seen);
    const std::uint32_t there = bottom - top.head();
    if (!top.is_asked() || there <= keep) return false;
    const bool join = is_join(read(top.head()));
    const std::uint32_t count = join ? 1 : std::min(most_, (there + 1) / 2);
    if (!join && count < least) return false;
    const top_word granted = top_word::claimed(top.head(), count, top.by());
    // release: the thief needs no look at bottom to read what it is granted. [WD-grant] pairs with at_door()
    return top_.compare_exchange_strong(seen, granted.word(), Rules::grant, std::memory_order_relaxed);
  }

  // Moves the new end down to `at`, so that what lies there belongs to the owner; fails if it is gone.
  [[nodiscard]] bool retreat_to(std::uint32_t at) noexcept {
    bottom_.store(at, Rules::publish);  // [WD-publish]; and the owner's half of [WD-race]
    if constexpr (Rules::owner_has_barrier) Platform::light_barrier(barriers_);
    // Either this sees the claim of a thief on `at`, or the thief sees that `at` is gone. [WD-race]
    if (WEFT_LIKELY(index_distance(peek_top().end(), at) >= 0)) return true;
    return reclaim(at);
  }

  // Something is in the way of `at`: a claim, which is revoked, or the end of the deque.
  [[gnu::noinline]] bool reclaim(std::uint32_t at) noexcept {
    std::uint64_t seen = top_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    for (;;) {
      const top_word top = top_word::from_word(seen);
      if (index_distance(top.head(), at) < 0) {
        // relaxed: it says that there is nothing, and nothing needs no publishing.
        bottom_.store(top.head(), std::memory_order_relaxed);
        return false;
      }
      if (index_distance(top.end(), at) >= 0) return true;  // settled in the meantime
      // relaxed: the store to bottom lies before the light barrier, so the heavy one of the next claim shows it.
      const bool revoked = top_.compare_exchange_strong(seen, top_word::settled(top.head()).word(),
                                                        std::memory_order_relaxed, std::memory_order_relaxed);
      if (revoked) return true;
    }
  }

  // Copies up to `count` of what was claimed behind the new end of the thief's deque, settles, and shows them there.
  std::uint32_t take(top_word claim, std::uint32_t count, basic_work_deque& into) noexcept {
    ring* const from = ring_.load(std::memory_order_acquire);               // [WD-ring]
    const std::uint32_t to = into.bottom_.load(std::memory_order_relaxed);  // relaxed: the thief's own
    count = into.has_room(count) ? count : 0;
    std::uint32_t copied = 0;
    while (copied < count) {
      const runnable r = from->peek(claim.head() + copied);
      if (is_join(r) && copied > 0) break;
      into.write(to + copied++, r);
      if (is_join(r)) break;
    }
    std::uint64_t standing = claim.word();
    const std::uint64_t rest = top_word::settled(claim.head() + copied).word();
    // release: the owner may write the slots again only after they were read. [WD-copied] pairs with make_room()
    const bool settled =
        top_.compare_exchange_strong(standing, rest, Rules::settle, std::memory_order_relaxed);
    if (!settled) return 0;  // revoked; what was copied may be anything, and is forgotten
    into.bottom_.store(to + copied, Rules::publish);  // [WD-publish]
    return copied;
  }

  // A guess: the slot may have been written again, or the ring not be visible yet.
  [[nodiscard]] bool seems_join(std::uint32_t head) const noexcept {
    ring* const in = ring_.load(std::memory_order_acquire);  // [WD-ring]
    return in != nullptr && is_join(in->peek(head));
  }

  [[nodiscard]] bool has_room(std::uint32_t count) noexcept {
    const std::uint32_t bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: the owner's own
    return limit_ - bottom >= count || make_room(count);
  }

  // Makes room for `count` more, by looking where the old end is now, or by growing.
  [[gnu::noinline]] bool make_room(std::uint32_t count) noexcept {
    const std::uint32_t bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: the owner's own
    // acquire: a thief that has settled has read its slots. [WD-copied] pairs with release in take()
    const top_word top = top_word::from_word(top_.load(Rules::reuse));
    if (slots_ != &no_slot_) {
      limit_ = Rules::reusable_before(top) + mask_ + 1;
      if (limit_ - bottom >= count) return true;
    }
    return grow(top.head(), bottom, count);
  }

  // Moves to a larger ring. Thieves may go on reading the old one, which does not change any more.
  [[nodiscard]] bool grow(std::uint32_t head, std::uint32_t bottom, std::uint32_t count) noexcept {
    const std::uint64_t least = std::uint64_t{bottom - head} + count;
    if (least > most_capacity) return false;
    const std::uint32_t capacity =
        std::max(first_capacity_, std::bit_ceil(static_cast<std::uint32_t>(least)));
    ring* const old = ring_.load(std::memory_order_relaxed);  // relaxed: the owner's own
    ring* const larger = ring::make(capacity, old);
    if (larger == nullptr) return false;
    slot* const to = larger->slots();
    for (std::uint32_t i = head; i != bottom; ++i) {
      const runnable kept = read(i);
      // relaxed: published with the ring
      to[i & (capacity - 1)].store(kept.word(), std::memory_order_relaxed);
    }
    slots_ = to;
    mask_ = capacity - 1;
    limit_ = head + capacity;
    ring_.store(larger, std::memory_order_release);  // [WD-ring] pairs with the acquires of that tag
    return true;
  }

  // Written by the owner; thieves read bottom and ring.
  alignas(contended_bytes) typename Platform::template atomic<std::uint32_t> bottom_;
  std::uint32_t limit_;             // owner only: bottom may go up to here without a look at the old end
  std::uint32_t mask_ = 0;          // owner only, as slots_: the ring's
  std::uint32_t pushes_asked_ = 0;  // owner only: so many pushes while a thief waited for an answer
  slot* slots_ = &no_slot_;
  typename Platform::template atomic<ring*> ring_{nullptr};
  slot no_slot_{0};  // what there is to read before the first push
  // Constant.
  std::uint32_t first_capacity_;
  std::uint32_t most_;
  std::uint32_t least_after_push_;
  barrier_kind barriers_;
  std::uint32_t
      quiet_;  // what attention_ is while nobody asks: where each push needs a fence, it is never quiet

  // Written by thieves, and by the owner when one stands here. The owner reads them all the time.
  alignas(contended_bytes) typename Platform::template atomic<std::uint32_t> attention_;
  typename Platform::template atomic<std::uint64_t> top_;
};

/// The deque of the shipping library.
using work_deque = basic_work_deque<std_atomics>;

}  // namespace weft::detail
