// SPDX-License-Identifier: Apache-2.0
//
// thread_place — on which processors a thread runs, and how it competes for them.
//
// Thread safety: as for any value; what it is applied to is the calling thread.
#pragma once

#include <weft/result.hpp>

#include <cstdint>
#include <optional>
#include <sched.h>
#include <span>
#include <sys/types.h>

namespace weft::impl {

class thread_place {
 public:
  /// The most processors that can be told apart.
  static constexpr std::uint32_t most_processors = CPU_SETSIZE;
  static constexpr int least_nice = -20;
  static constexpr int most_nice = 19;

  /// Where a thread of this process is, 0 for the calling one: the processors that it may use, and its niceness.
  [[nodiscard]] static thread_place of_thread(pid_t number) noexcept;

  /// On these processors alone, of which there are some. Each is below most_processors.
  void use_only(std::span<const std::uint32_t> processors) noexcept;
  /// With this niceness, from least_nice to most_nice.
  void set_niceness(int niceness) noexcept { niceness_ = niceness; }

  /// How many processors it may use.
  [[nodiscard]] std::uint32_t processors() const noexcept;
  /// Those of `wished` that this process cannot use now: there are none, or others have taken them from it.
  [[nodiscard]] std::optional<std::uint32_t> first_unusable(
      std::span<const std::uint32_t> wished) const noexcept;
  /// Whether the system lets the calling thread be as nice as that; it may forbid to be less nice than it is.
  [[nodiscard]] static bool may_be_as_nice_as(int niceness) noexcept;

  /// As the other, where that says something.
  void override_by(const thread_place& other) noexcept;

  /// Brings the calling thread there. What the system refuses is left as it is.
  void apply() const noexcept;

 private:
  cpu_set_t mask_{};
  bool has_mask_ = false;  // otherwise any; or there are more processors than can be told apart
  std::optional<int> niceness_;
};

}  // namespace weft::impl
