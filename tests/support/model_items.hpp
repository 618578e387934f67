// SPDX-License-Identifier: Apache-2.0
//
// model_items — the items that models of intrusive queues push and take, and who has had what.
#pragma once

#include "base/runnable.hpp"
#include "model/platform.hpp"
#include "model/world.hpp"
#include "queue/run_batch.hpp"

#include <array>
#include <cstddef>

namespace weft::impl {

/// N items, each with data that its pusher writes and its taker reads.
template <std::size_t N>
struct model_items {
  struct item : run_link<model::platform> {
    model::platform::plain<int> data{0};
  };

  [[nodiscard]] runnable word(std::size_t i) {
    return {runnable::kind::task, static_cast<run_link<model::platform>*>(&all[i])};
  }
  [[nodiscard]] std::size_t index(runnable r) const {
    const auto* const at = static_cast<const item*>(&run_link<model::platform>::of(r));
    return static_cast<std::size_t>(at - all.data());
  }
  void write(std::size_t i) { all[i].data.write(static_cast<int>(i) + 1); }

  void take(runnable r) {
    const std::size_t i = index(r);
    model::require(i < N, "an item that nobody pushed");
    model::require(all[i].data.read() == static_cast<int>(i) + 1, "an item came without its data");
    model::require(place[i] == 0, "an item was taken twice");
    place[i] = ++taken;
  }
  void take(basic_run_batch<model::platform> batch) {
    while (const runnable r = batch.pop_front()) take(r);
  }

  void expect_all(std::size_t count) const { model::require(taken == count, "an item was lost"); }
  [[nodiscard]] bool came_before(std::size_t a, std::size_t b) const { return place[a] < place[b]; }

  std::array<item, N> all;
  std::array<std::size_t, N> place{};  // in the order of taking, from 1 on
  std::size_t taken = 0;
};

}  // namespace weft::impl
