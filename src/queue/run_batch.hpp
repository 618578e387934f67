// SPDX-License-Identifier: Apache-2.0
//
// run_batch — runnables in somebody's hands: a list, oldest first, that owns what it holds.
//
// What inboxes and the global queue give out, what is put into them as a whole, and what travels between workers.
// The links lie in the runnables, so a batch is three words and nothing here allocates or can fail. A batch that
// is dropped would lose work in silence; hence it can be moved but not copied, and asserts that it is empty when
// it goes.
//
// Thread safety: none; a batch and what is in it belong to one thread.
// Invariants:   B1  size() runnables hang between first_ and last_; the link of last_ means nothing
//               B2  a runnable is in at most one batch or queue at a time
#pragma once

#include "base/runnable.hpp"
#include "sys/platform.hpp"

#include <cstddef>
#include <utility>

namespace weft::impl {

template <class Platform>
class basic_run_batch {
  using link = run_link<Platform>;

 public:
  basic_run_batch() noexcept = default;
  basic_run_batch(basic_run_batch&& other) noexcept
      : first_(std::exchange(other.first_, {})),
        last_(std::exchange(other.last_, {})),
        count_(std::exchange(other.count_, 0)) {}
  basic_run_batch& operator=(basic_run_batch&& other) noexcept {
    WEFT_ASSERT(empty(), "B2: a batch that still holds runnables was overwritten");
    first_ = std::exchange(other.first_, {});
    last_ = std::exchange(other.last_, {});
    count_ = std::exchange(other.count_, 0);
    return *this;
  }
  basic_run_batch(const basic_run_batch&) = delete;
  basic_run_batch& operator=(const basic_run_batch&) = delete;
  ~basic_run_batch() { WEFT_ASSERT(empty(), "B2: a batch was dropped with runnables still in it"); }

  /// A batch of what is linked already: `count` runnables from `first` to `last`.
  [[nodiscard]] static basic_run_batch of_chain(runnable first, runnable last, std::size_t count) noexcept {
    WEFT_ASSERT(first && last && count != 0, "B1: a chain has a beginning and an end");
    basic_run_batch made;
    made.first_ = first;
    made.last_ = last;
    made.count_ = count;
    return made;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// The oldest and the newest; nothing in an empty batch.
  [[nodiscard]] runnable first() const noexcept { return first_; }
  [[nodiscard]] runnable last() const noexcept { return last_; }

  void push_back(runnable added) noexcept {
    WEFT_ASSERT(added, "B1: nothing is not a runnable");
    if (empty()) {
      first_ = added;
    } else {
      link::of(last_).next.write(added);
    }
    last_ = added;
    ++count_;
  }

  void push_front(runnable added) noexcept {
    WEFT_ASSERT(added, "B1: nothing is not a runnable");
    if (empty()) {
      last_ = added;
    } else {
      link::of(added).next.write(first_);
    }
    first_ = added;
    ++count_;
  }

  /// Takes the oldest out, or gives nothing where there is none.
  [[nodiscard]] runnable pop_front() noexcept {
    const runnable oldest = first_;
    if (count_ <= 1) {
      forget();
      return oldest;
    }
    first_ = link::of(oldest).next.read();
    --count_;
    return oldest;
  }

  /// Takes the oldest out of a batch that is not empty, and puts one in behind the others.
  [[nodiscard]] runnable rotate(runnable added) noexcept {
    WEFT_ASSERT(!empty() && added, "B1: one goes, and one comes");
    const runnable oldest = first_;
    link::of(last_).next.write(added);  // of the oldest itself, where it is the only one
    last_ = added;
    first_ = link::of(oldest).next.read();
    return oldest;
  }

  /// Moves all of `other` behind ours, in constant time.
  void append(basic_run_batch&& other) noexcept {
    WEFT_ASSERT(&other != this, "a batch cannot be appended to itself");
    if (other.empty()) return;
    if (empty()) {
      first_ = other.first_;
    } else {
      link::of(last_).next.write(other.first_);
    }
    last_ = other.last_;
    count_ += other.count_;
    other.forget();
  }

  /// Takes the `n` oldest off as a batch of their own; all, if there are no more. Takes time linear in n.
  [[nodiscard]] basic_run_batch split_off(std::size_t n) noexcept {
    basic_run_batch oldest;
    if (n >= count_) {
      oldest.append(std::move(*this));
    } else if (n != 0) {
      oldest.first_ = first_;
      oldest.last_ = first_;
      for (std::size_t i = 1; i < n; ++i) oldest.last_ = link::of(oldest.last_).next.read();
      first_ = link::of(oldest.last_).next.read();
      oldest.count_ = n;
      count_ -= n;
    }
    return oldest;
  }

  /// Gives up everything without touching it: whoever calls has put it elsewhere.
  void forget() noexcept {
    first_ = {};
    last_ = {};
    count_ = 0;
  }

 private:
  runnable first_;
  runnable last_;
  std::size_t count_ = 0;
};

using run_batch = basic_run_batch<default_platform>;

}  // namespace weft::impl
