// SPDX-License-Identifier: Apache-2.0
//
// run_items — runnables to test queues with: each knows who pushed it and as the how-manieth.
#pragma once

#include "queue/run_batch.hpp"
#include "sys/platform.hpp"

#include <cstddef>
#include <vector>

namespace weft::testing {

template <class Platform = impl::default_platform>
struct run_item : impl::run_link<Platform> {
  std::size_t producer = 0;
  std::size_t sequence = 0;

  [[nodiscard]] impl::runnable word(impl::runnable::kind what = impl::runnable::kind::task) {
    return {what, static_cast<impl::run_link<Platform>*>(this)};
  }
  [[nodiscard]] static run_item& of(impl::runnable word) {
    return static_cast<run_item&>(impl::run_link<Platform>::of(word));
  }
};

/// `count` items, numbered from 0.
template <class Platform = impl::default_platform>
[[nodiscard]] std::vector<run_item<Platform>> run_items(std::size_t count, std::size_t producer = 0) {
  std::vector<run_item<Platform>> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    made[i].producer = producer;
    made[i].sequence = i;
  }
  return made;
}

/// Items [from, until) as a batch.
template <class Platform>
[[nodiscard]] impl::basic_run_batch<Platform> batch_of(std::vector<run_item<Platform>>& items,
                                                       std::size_t from, std::size_t until) {
  impl::basic_run_batch<Platform> made;
  for (std::size_t i = from; i < until; ++i) made.push_back(items[i].word());
  return made;
}

/// Empties a batch: the numbers of what was in it, in order.
template <class Platform>
[[nodiscard]] std::vector<std::size_t> numbers(impl::basic_run_batch<Platform> batch) {
  std::vector<std::size_t> found;
  while (const impl::runnable next = batch.pop_front()) {
    found.push_back(run_item<Platform>::of(next).sequence);
  }
  return found;
}

/// from, from + 1, ... until - 1.
[[nodiscard]] inline std::vector<std::size_t> range(std::size_t from, std::size_t until) {
  std::vector<std::size_t> made;
  for (std::size_t i = from; i < until; ++i) made.push_back(i);
  return made;
}

}  // namespace weft::testing
