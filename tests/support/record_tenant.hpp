// SPDX-License-Identifier: Apache-2.0
//
// record_tenant — records to test with, and who lives in their slab.
#pragma once

#include "queue/record_slab.hpp"

#include <cstddef>
#include <utility>

namespace weft::testing {

template <class Platform>
struct test_record : impl::basic_record<Platform> {
  typename Platform::template atomic<int> stamp{0};
};

// Moves in, and out again at the end.
template <class Slab>
class tenant {
 public:
  explicit tenant(Slab& in) : slab_(in), home_(in.move_in().value()) {}
  tenant(const tenant&) = delete;
  tenant& operator=(const tenant&) = delete;
  ~tenant() {
    if (home_ != nullptr) slab_.move_out(*home_);
  }

  auto* operator->() const { return home_; }
  [[nodiscard]] auto* home() const { return home_; }

  [[nodiscard]] auto& published() const {
    auto& made = *home_->allocate().value();
    Slab::publish(made);
    return made;
  }
  void leave() { slab_.move_out(*std::exchange(home_, nullptr)); }

 private:
  Slab& slab_;
  typename Slab::home* home_;
};

template <class Slab>
[[nodiscard]] std::size_t live_records(const Slab& in) {
  std::size_t count = 0;
  in.for_each_live([&](const auto&, impl::record_handle) { ++count; });
  return count;
}

// Room for 4 blocks of 2 records.
struct tiny_policy : impl::record_policy {
  static constexpr unsigned root_bits = 1;
  static constexpr unsigned leaf_bits = 1;
  static constexpr unsigned index_bits = 1;
  using name = impl::basic_record_name<3>;
};

}  // namespace weft::testing
