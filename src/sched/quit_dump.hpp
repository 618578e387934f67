// SPDX-License-Identifier: Apache-2.0
//
// quit_dump — a dump of all tasks to the standard error when the process gets SIGQUIT.
//
// The handler does nothing but count up a semaphore; a thread that waits for it writes the dump. Both are there while some runtime wants
// them. What the signal did before it does again afterwards.
//
// Thread safety: any thread.
#pragma once

#include <weft/result.hpp>

#include <cstdint>

namespace weft::impl {

/// One that wants it, from try_begin() to its end.
class quit_dump {
 public:
  quit_dump() noexcept = default;
  quit_dump(const quit_dump&) = delete;
  quit_dump& operator=(const quit_dump&) = delete;
  ~quit_dump();

  /// Returns why it cannot be.
  [[nodiscard]] result<void> try_begin() noexcept;

 private:
  std::uint32_t begun_in_ = 0;  // which process, by a count of forks
};

}  // namespace weft::impl
