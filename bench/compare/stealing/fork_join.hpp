// SPDX-License-Identifier: Apache-2.0
//
// W3: fork-join. What a join costs as long as nobody steals it, and how soon two workers share a tree of them.
#pragma once

#include "compare/stealing/config.hpp"
#include "compare/stealing/worker.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace weft::bench::stealing {

/// The second half of a join, in its caller's frame.
template <class Scheme>
struct job {
  int n = 0;
  std::uint64_t result = 0;
  std::atomic<bool> done{false};
};

template <class Scheme>
std::uint64_t fib(worker<Scheme>& self, int n);

/// Runs what was stolen; nothing but jobs is in these deques.
template <class Scheme>
void run_job(worker<Scheme>& self, runnable r) {
  auto& stolen = *static_cast<job<Scheme>*>(r.address());
  stolen.result = fib(self, stolen.n);
  stolen.done.store(true, std::memory_order_release);
}

/// A real worker would put the fiber aside; here the wait helps, which for fib comes to the same.
template <class Scheme>
[[gnu::noinline]] void wait_for(worker<Scheme>& self, const job<Scheme>& other) {
  const auto done = [&] { return other.done.load(std::memory_order_acquire); };
  while (!done()) {
    if (self.rob(done) == 0) continue;
    if (const runnable r = self.deque.pop()) run_job(self, r);
  }
}

template <class Scheme>
std::uint64_t fib(worker<Scheme>& self, int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  job<Scheme> second{n - 2};
  const runnable word(runnable::kind::join, &second);
  self.deque.push(word);
  self.deque.after_push();
  const std::uint64_t first = fib(self, n - 1);
  if (self.deque.pop_if(word)) return first + fib(self, n - 2);
  wait_for(self, second);
  return first + second.result;
}

/// How many calls fib(n) makes.
[[nodiscard]] inline std::uint64_t calls_of_fib(int n) {
  std::uint64_t last = 1;
  std::uint64_t now = 1;
  for (int i = 2; i <= n; ++i) {
    const std::uint64_t next = last + now + 1;
    last = now;
    now = next;
  }
  return now;
}

/// W3.
template <class Scheme>
[[nodiscard]] measured fork_join(const options& opts) {
  const int n = opts.variant.starts_with("fib") ? std::atoi(opts.variant.c_str() + 3) : 0;
  if (n < 2 || n > 40) refuse("unknown variant", opts.variant);
  worker<Scheme> self(0);
  worker<Scheme> helper(1);
  std::atomic<bool> stop{false};
  std::thread second;
  if (opts.threads > 1) {
    self.meet(helper);
    helper.meet(self);
    second = std::thread([&] {
      const auto stopped = [&] { return stop.load(std::memory_order_relaxed); };
      while (!stopped()) {
        if (helper.rob(stopped) == 0) continue;
        if (const runnable r = helper.deque.pop()) run_job(helper, r);
      }
    });
  }
  measured all = time_rounds(opts, [&] {
    volatile std::uint64_t result = fib(self, n);
    (void)result;
  });
  stop.store(true, std::memory_order_relaxed);
  if (second.joinable()) second.join();
  all.value /= static_cast<double>(calls_of_fib(n));
  return all;
}

}  // namespace weft::bench::stealing
