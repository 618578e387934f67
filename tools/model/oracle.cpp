// SPDX-License-Identifier: Apache-2.0

#include "model/oracle.hpp"

#include <charconv>
#include <stdexcept>
#include <utility>

namespace weft::model {
namespace {

/// Takes numbers and separators off the front of a text.
class reader {
 public:
  explicit reader(const std::string& text) : text_(text) {}

  [[nodiscard]] bool done() const noexcept { return at_ == text_.size(); }

  bool skip(char c) noexcept {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!skip(c)) throw std::invalid_argument(complaint(std::string("'") + c + "'"));
  }

  template <class T>
  T number() {
    T value{};
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) throw std::invalid_argument(complaint("a number"));
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

 private:
  [[nodiscard]] std::string complaint(const std::string& wanted) const {
    return "schedule '" + text_ + "': " + wanted + " is missing at character " + std::to_string(at_ + 1) +
           "; a schedule is what a failing model prints, as in 3:1,17:2";
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_text(const trail& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const choice& c = choices[i];
    if (c.taken == 0 && !c.promised) continue;
    if (!text.empty()) text += ',';
    text += std::to_string(i) + ':';
    if (c.promised) {
      text += (c.made.follows ? 'm' : 'p') + std::to_string(c.made.by) + '.' +
              std::to_string(c.made.operation) + '=' + std::to_string(c.made.value);
    } else {
      text += std::to_string(c.taken);
    }
  }
  return text;
}

trail from_text(const std::string& text) {
  trail choices;
  reader in(text);
  while (!in.done()) {
    if (!choices.empty()) in.expect(',');
    const auto index = in.number<std::uint32_t>();
    if (index < choices.size() || index > 1'000'000) {
      throw std::invalid_argument("schedule '" + text + "': position " + std::to_string(index) +
                                  " is not above the one before it, or beyond a million");
    }
    in.expect(':');
    choice c;
    c.made.follows = in.skip('m');
    if (c.made.follows || in.skip('p')) {
      c.promised = true;
      c.made.by = in.number<thread_id>();
      in.expect('.');
      c.made.operation = in.number<std::uint32_t>();
      in.expect('=');
      c.made.value = in.number<std::uint64_t>();
    } else {
      c.taken = in.number<std::uint16_t>();
    }
    choices.resize(index);
    choices.push_back(c);
  }
  return choices;
}

void oracle::begin(trail plan, strategy beyond, std::uint64_t seed) {
  plan_ = std::move(plan);
  taken_.clear();
  odd_left_ = ~0U;
  beyond_ = beyond;
  if (beyond != strategy::dull) chance_ = impl::xoshiro256ss(seed);
}

const choice& oracle::take(unsigned value, unsigned count) {
  taken_.push_back({static_cast<std::uint16_t>(value), static_cast<std::uint16_t>(count), false, {}});
  return taken_.back();
}

const choice& oracle::follow_plan(unsigned count) {
  choice c = plan_[taken_.size()];
  c.of = static_cast<std::uint16_t>(count);
  // A schedule that was shortened may ask for what is no longer there.
  if (!c.promised && c.taken >= count) c.taken = static_cast<std::uint16_t>(count - 1);
  taken_.push_back(c);
  return taken_.back();
}

unsigned oracle::choose(unsigned count) {
  if (count <= 1) return 0;
  return choose_read(count).taken;
}

const choice& oracle::choose_read(unsigned count) {
  if (odd_left_ == 0) count = 1;
  if (planned()) {
    const choice& followed = follow_plan(count);
    if (followed.taken != 0) --odd_left_;
    return followed;
  }
  if (beyond_ == strategy::dull || count <= 1 || chance_.below(2) == 0) return take(0, count);
  return take(1 + chance_.below(count - 1), count);
}

unsigned oracle::choose_thread(unsigned count, unsigned favourite, unsigned alternatives) {
  if (count <= 1) return 0;
  if (planned()) {
    const unsigned taken = follow_plan(count).taken;
    taken_.back().of = static_cast<std::uint16_t>(alternatives);
    return taken;
  }
  switch (beyond_) {
    case strategy::random: return take(chance_.below(count), count).taken;
    case strategy::priorities: return take(favourite, count).taken;
    case strategy::dull: break;
  }
  return take(0, alternatives).taken;
}

}  // namespace weft::model
