// SPDX-License-Identifier: Apache-2.0
//
// C, spawning: one task spawns many children and waits for them all. The figure is nanoseconds a child.
//
//   million  1,000,000 children that do next to nothing (with --quick: 100,000)
//   300 ns   200,000 children (with --quick: 50,000) that work for about 300 ns each
//   bursts   1,000 children that do next to nothing, again and again
//
// Every program of this workload keeps to the same terms: each child has a byte of its own, into which it writes its answer,
// and after each round all bytes are looked at, which is not timed. Whatever a program keeps of its children, such as a
// list of handles, it may keep room for from round to round. The first round, in which the memory is touched for the first
// time, does not count.
#pragma once

#include "support/program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench::spawning {

struct shape {
  const char* name;
  std::size_t children;
  std::size_t children_quick;
  bool works;
};

inline constexpr shape shapes[] = {
    {"million", 1'000'000, 100'000, false},
    {"300 ns", 200'000, 50'000, true},
    {"bursts", 1'000, 1'000, false},
};

[[nodiscard]] inline const shape& chosen(const options& opts) {
  if (opts.workload != "C") refuse("unknown workload", opts.workload);
  for (const shape& each : shapes) {
    if (opts.variant == each.name) return each;
  }
  refuse("unknown variant", opts.variant);
}

/// About 300 ns on a machine of 3.2 GHz, four cycles a step: a chain of multiplications, each of which waits for the one
/// before, so that no compiler makes it faster than another.
[[nodiscard]] inline std::uint8_t worked() noexcept {
  std::uint64_t x = 1;
  for (int i = 0; i < 240; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x));
  }
  return static_cast<std::uint8_t>(x >> 56U | 1U);
}

struct trivial_child {
  std::uint8_t* answer;
  [[nodiscard]] static std::uint8_t expected() noexcept { return 1; }
  void operator()() const noexcept { *answer = 1; }
};

struct working_child {
  std::uint8_t* answer;
  [[nodiscard]] static std::uint8_t expected() noexcept { return worked(); }
  void operator()() const noexcept { *answer = worked(); }
};

/// The children of a round: functions, to be called once each.
template <class Child>
class children {
 public:
  explicit children(std::size_t count) : answers_(count) {}
  [[nodiscard]] std::size_t size() const noexcept { return answers_.size(); }
  [[nodiscard]] Child operator[](std::size_t i) noexcept { return Child{&answers_[i]}; }

  void check_and_forget() {
    const auto right = std::count(answers_.begin(), answers_.end(), Child::expected());
    if (static_cast<std::size_t>(right) != size())
      fail(std::to_string(right) + " of " + std::to_string(size()) + " children have run");
    std::fill(answers_.begin(), answers_.end(), std::uint8_t{0});
  }

 private:
  std::vector<std::uint8_t> answers_;
};

template <class Child, class SpawnAndAwait>
[[nodiscard]] double ns_per_child(const options& opts, std::size_t count, SpawnAndAwait& spawn_and_await) {
  children<Child> all(count);
  const double ns = ns_per_round(opts, [&] {
    const std::int64_t taken = elapsed_ns([&] { spawn_and_await(all); });
    all.check_and_forget();
    return taken;
  });
  return ns / static_cast<double>(count);
}

/// Measures what the command line asks for. spawn_and_await(all) spawns all[0], all[1] and so on up to all.size(), and
/// returns when all of them have run.
template <class SpawnAndAwait>
void run(const options& opts, const char* system, const char* version, SpawnAndAwait&& spawn_and_await) {
  const shape& of = chosen(opts);
  const std::size_t count = opts.quick ? of.children_quick : of.children;
  const double ns = of.works ? ns_per_child<working_child>(opts, count, spawn_and_await)
                             : ns_per_child<trivial_child>(opts, count, spawn_and_await);
  report(ns, "ns", system, version);
}

}  // namespace weft::bench::spawning
