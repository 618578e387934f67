// SPDX-License-Identifier: Apache-2.0
//
// oracle — decides, at every point where an execution could go on in more than one way, which way it goes.
//
// Choice 0 is always the dull one: the thread that runs goes on running, a load reads the newest value. An execution is
// determined by its choices, so the list of those that are not 0 is a schedule: it can be printed, shrunk and
// replayed. The four strategies differ in how they choose beyond what was planned.
#pragma once

#include "base/rng.hpp"
#include "model/view.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::model {

/// A store that another thread is to make later, read now: how load buffering is explored (README, "Promises").
struct promise {
  thread_id by = 0;
  std::uint32_t operation = 0;  // which of that thread's operations the store is
  std::uint64_t value = 0;
  bool follows = false;  // it is the second half of a read-modify-write

  friend bool operator==(const promise&, const promise&) = default;
};

/// One decision of an execution.
struct choice {
  std::uint16_t taken = 0;
  std::uint16_t of = 1;  // how many ways there were, not counting promises
  bool promised = false;
  promise made;
};

/// A schedule: the choices of an execution, in order.
using trail = std::vector<choice>;

/// The choices that are not 0, as text: "3:1,17:2,40:p2.12=5" (m instead of p for a read-modify-write).
[[nodiscard]] std::string to_text(const trail& choices);

/// Reads what to_text wrote.
///
/// Throws: std::invalid_argument that names what is wrong.
[[nodiscard]] trail from_text(const std::string& text);

class oracle {
 public:
  enum class strategy : std::uint8_t {
    dull,        // choice 0: replay, and exhaustive search, which plans all the rest
    random,      // any, with a leaning towards new values
    priorities,  // PCT: the schedule by priorities with a few random changes, values at random
  };

  /// Begins an execution that follows the plan, then the strategy.
  void begin(trail plan, strategy beyond, std::uint64_t seed);

  /// Lets at most so many of the choices that are not about threads be anything but the dull one.
  void allow_odd(unsigned most) noexcept { odd_left_ = most; }

  /// Chooses among values to read, or among ways in which something happens.
  unsigned choose(unsigned count);

  /// As choose(), for loads: also says whether a promise is to be read instead.
  const choice& choose_read(unsigned count);

  /// Chooses who runs next among `count`; `favourite` is whom the priorities would take, `alternatives` how many of
  /// them the exhaustive search may try (1 when it has no preemptions left).
  unsigned choose_thread(unsigned count, unsigned favourite, unsigned alternatives);

  [[nodiscard]] const trail& taken() const noexcept { return taken_; }
  [[nodiscard]] std::size_t position() const noexcept { return taken_.size(); }
  [[nodiscard]] strategy beyond() const noexcept { return beyond_; }
  [[nodiscard]] impl::xoshiro256ss& chance() noexcept { return chance_; }

 private:
  [[nodiscard]] bool planned() const noexcept { return taken_.size() < plan_.size(); }
  const choice& take(unsigned value, unsigned count);
  const choice& follow_plan(unsigned count);

  trail plan_;
  trail taken_;
  strategy beyond_ = strategy::dull;
  unsigned odd_left_ = ~0U;
  impl::xoshiro256ss chance_{0};
};

}  // namespace weft::model
