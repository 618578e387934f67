// SPDX-License-Identifier: Apache-2.0
//
// at_end — something that is done at the end of a scope, however it ends.
#pragma once

namespace weft::detail {

template <class F>
class [[nodiscard]] at_end {
 public:
  explicit at_end(F function) noexcept : function_(function) {}
  at_end(const at_end&) = delete;
  at_end& operator=(const at_end&) = delete;
  ~at_end() { function_(); }

 private:
  F function_;
};

}  // namespace weft::detail
