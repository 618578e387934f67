// SPDX-License-Identifier: Apache-2.0

#include "sched/environment.hpp"

#include "base/report.hpp"
#include "stack/stack_class.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace weft::impl {
namespace {

// -- Values -------------------------------------------------------------------------------------------------------------------

template <class Number>
std::optional<Number> to_number(std::string_view text, int base = 10) noexcept {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<bool> to_switch(std::string_view text) noexcept {
  if (text == "1") return true;
  if (text == "0") return false;
  return std::nullopt;
}

// "4", or "1-8".
std::optional<worker_range> to_workers(std::string_view text) noexcept {
  const std::size_t dash = text.find('-');
  const std::optional<std::uint32_t> least = to_number<std::uint32_t>(text.substr(0, dash));
  const std::optional<std::uint32_t> most =
      dash == std::string_view::npos ? least : to_number<std::uint32_t>(text.substr(dash + 1));
  if (!least || !most || *least < 1 || *least > *most || *most > most_workers) return std::nullopt;
  return worker_range{*least, *most};
}

// "65536", "64K", "1M".
std::optional<std::size_t> to_stack(std::string_view text) noexcept {
  unsigned shift = 0;
  if (text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  if (shift != 0) text.remove_suffix(1);
  const std::optional<std::size_t> number = to_number<std::size_t>(text);
  if (!number || *number > stack_class::largest || !stack_class::holding(*number << shift))
    return std::nullopt;
  return *number << shift;
}

std::optional<std::uint64_t> to_seed(std::string_view text) noexcept {
  const bool is_hexadecimal = text.starts_with("0x");
  const std::optional<std::uint64_t> number =
      is_hexadecimal ? to_number<std::uint64_t>(text.substr(2), 16) : to_number<std::uint64_t>(text);
  return number == 0 ? std::nullopt : number;
}

// -- Variables ----------------------------------------------------------------------------------------------------------------

struct variable {
  std::string_view name;
  std::string_view legal;
  // Returns false for a value that cannot be.
  bool (*take)(std::string_view value, environment_settings& into);
};

template <auto Member, auto Parse>
bool take(std::string_view value, environment_settings& into) {
  const auto parsed = Parse(value);
  if (parsed) into.*Member = *parsed;
  return parsed.has_value();
}

constexpr std::string_view prefix = "WEFT_";
constexpr std::string_view is_on_or_off = "it is 0 or 1";
constexpr std::array known{
    variable{"WEFT_WORKERS",
             "it is a number of workers from 1 to 256, or two as in 1-8: at first, and at most",
             &take<&environment_settings::workers, to_workers>},
    variable{"WEFT_STACK_SIZE", "it is a number of bytes from 8192 to 8388608, or as in 64K and 1M",
             &take<&environment_settings::stack_bytes, to_stack>},
    variable{"WEFT_SEED", "it is a number from 1 to 18446744073709551615, or hexadecimal as in 0x2a",
             &take<&environment_settings::seed, to_seed>},
    variable{"WEFT_STATS", is_on_or_off, &take<&environment_settings::prints_statistics, to_switch>},
    variable{"WEFT_DEBUG_SYSMON", is_on_or_off, &take<&environment_settings::debugs_sysmon, to_switch>},
    variable{"WEFT_DEBUG_STACKS", is_on_or_off, &take<&environment_settings::debugs_stacks, to_switch>},
};

// For weft's own tests and tools.
bool is_for_tests(std::string_view name) noexcept { return name.starts_with("WEFT_TEST_"); }

// Calls f(name, value) for each that begins as weft's do.
template <class F>
void for_each_of_weft(const char* const* variables, F&& f) {
  for (; *variables != nullptr; ++variables) {
    const std::string_view whole = *variables;
    const std::size_t sign = whole.find('=');
    if (!whole.starts_with(prefix) || sign == std::string_view::npos) continue;
    f(whole.substr(0, sign), whole.substr(sign + 1));
  }
}

const variable* find_known(std::string_view name) noexcept {
  const auto* const found =
      std::find_if(known.begin(), known.end(), [name](const variable& each) { return each.name == name; });
  return found == known.end() ? nullptr : found;
}

// How many letters must be added, left out or changed to make one of the other.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string_view nearest_to(std::string_view name) {
  std::string_view nearest;
  std::size_t least = 4;  // farther away it is a guess
  for (const variable& each : known) {
    const std::size_t now = distance(name, each.name);
    if (now < least) {
      least = now;
      nearest = each.name;
    }
  }
  return nearest;
}

constinit notice_once unknown_notice;

}  // namespace

environment_settings parse_environment(const char* const* variables) {
  environment_settings settings;
  for_each_of_weft(variables, [&](std::string_view name, std::string_view value) {
    const variable* const found = find_known(name);
    if (found == nullptr || found->take(value, settings)) return;
    throw std::invalid_argument("the environment variable " + std::string(name) + " is '" +
                                std::string(value) + "'; " + std::string(found->legal));
  });
  return settings;
}

std::vector<unknown_variable> find_unknown(const char* const* variables) {
  std::vector<unknown_variable> unknown;
  for_each_of_weft(variables, [&](std::string_view name, std::string_view /*value*/) {
    if (find_known(name) == nullptr && !is_for_tests(name)) unknown.push_back({name, nearest_to(name)});
  });
  return unknown;
}

environment_settings read_environment() {
  const environment_settings settings = parse_environment(::environ);
  const std::vector<unknown_variable> unknown = find_unknown(::environ);
  if (unknown.empty()) return settings;
  text_line line;
  line << "not known to this version, and ignored:";
  const char* separator = " ";
  for (const unknown_variable& each : unknown) {
    line << std::exchange(separator, ", ") << each.name;
    if (!each.nearest.empty()) line << " (is it " << each.nearest << "?)";
  }
  unknown_notice.say(line);
  return settings;
}

}  // namespace weft::impl
