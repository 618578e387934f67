// SPDX-License-Identifier: Apache-2.0

#include "sys/processors.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <exception>
#include <fcntl.h>
#include <optional>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weft::impl {
namespace {

// -- Affinity -----------------------------------------------------------------------------------------------------------------

std::uint32_t count_allowed(pid_t thread) {
  constexpr std::size_t most_processors = std::size_t{1} << 16U;
  for (std::size_t size = 1024; size <= most_processors;
       size *= 2) {  // the kernel says no to a set that is too small for it
    std::vector<unsigned long> bits(size / (8 * sizeof(unsigned long)));
    auto* const set = reinterpret_cast<cpu_set_t*>(bits.data());
    const std::size_t bytes = bits.size() * sizeof(unsigned long);
    if (::sched_getaffinity(thread, bytes, set) == 0)
      return static_cast<std::uint32_t>(CPU_COUNT_S(bytes, set));
    if (errno != EINVAL) break;
  }
  return std::thread::hardware_concurrency();
}

// -- Files and words ----------------------------------------------------------------------------------------------------------

// Nothing where it cannot be read.
std::string read_file(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  constexpr std::size_t at_once = 4096;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + at_once);
    const ssize_t got = ::read(file, text.data() + before, at_once);
    text.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  ::close(file);
  return text;
}

// Cuts off what stands before the next mark; all of it, where there is none.
std::string_view cut(std::string_view& text, char mark) noexcept {
  const std::size_t end = text.find(mark);
  const std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return word;
}

bool lists(std::string_view words, std::string_view wanted) noexcept {
  while (!words.empty()) {
    if (cut(words, ',') == wanted) return true;
  }
  return false;
}

std::optional<std::int64_t> to_number(std::string_view text) noexcept {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// mountinfo writes blanks and the like as a backslash and three octal digits.
std::string unescape(std::string_view text) {
  constexpr std::size_t digits = 3;
  std::string plain;
  while (!text.empty()) {
    const std::string_view octal = text.substr(1, digits);
    unsigned code = 0;
    const auto [end, error] = std::from_chars(octal.data(), octal.data() + octal.size(), code, 8);
    if (text.front() == '\\' && error == std::errc() && octal.size() == digits &&
        end == octal.data() + digits) {
      plain += static_cast<char>(code);
      text.remove_prefix(1 + digits);
    } else {
      plain += text.front();
      text.remove_prefix(1);
    }
  }
  return plain;
}

// -- Control groups -----------------------------------------------------------------------------------------------------------

enum class group_version { one, two };

/// A hierarchy of control groups that limits processor time, as this process sees it.
struct hierarchy {
  group_version version;
  std::string mounted_at;
  std::string shows;  // which group the mount begins with
};

// A line of mountinfo: id, parent, device, root, mount point, options, any number of tags, "-", type, source, options.
std::optional<hierarchy> to_hierarchy(std::string_view line) {
  for (int ignored = 0; ignored < 3; ++ignored) cut(line, ' ');
  const std::string_view shows = cut(line, ' ');
  const std::string_view mounted_at = cut(line, ' ');
  while (!line.empty() && cut(line, ' ') != "-") {
  }
  const std::string_view type = cut(line, ' ');
  cut(line, ' ');
  if (type == "cgroup2") return hierarchy{group_version::two, unescape(mounted_at), unescape(shows)};
  if (type == "cgroup" && lists(line, "cpu"))
    return hierarchy{group_version::one, unescape(mounted_at), unescape(shows)};
  return std::nullopt;
}

// Which group this process is in: a line of the file is a number, names of controllers (none in version 2), and a path.
std::optional<std::string> group_in(group_version version, std::string_view memberships) {
  while (!memberships.empty()) {
    std::string_view line = cut(memberships, '\n');
    const std::string_view number = cut(line, ':');
    const std::string_view controllers = cut(line, ':');
    const bool is_it =
        version == group_version::two ? number == "0" && controllers.empty() : lists(controllers, "cpu");
    if (is_it) return std::string(line);
  }
  return std::nullopt;
}

// The group's path below the mount. Where the mount does not show it (in a container, mostly), the mount is the best that is known.
std::string below_mount(const hierarchy& in, std::string_view group) {
  const bool is_above = group.find("/..") != std::string_view::npos;
  std::string_view top = in.shows;
  if (top == "/") top = {};
  const bool is_shown =
      group.substr(0, top.size()) == top && (group.size() == top.size() || group[top.size()] == '/');
  if (is_above || !is_shown) return {};
  std::string path(group.substr(top.size()));
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path;
}

double ratio(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) noexcept {
  if (!quota || !period || *quota <= 0 || *period <= 0) return processor_limits::no_quota;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

double quota_of(group_version version, const std::string& directory) {
  if (version == group_version::one) {
    return ratio(to_number(read_file(directory + "/cpu.cfs_quota_us")),
                 to_number(read_file(directory + "/cpu.cfs_period_us")));
  }
  const std::string text = read_file(directory + "/cpu.max");  // as in "max 100000" or "50000 100000"
  std::string_view rest = text;
  const std::string_view quota = cut(rest, ' ');
  return ratio(to_number(quota), to_number(rest));
}

// The least of all groups from this process's own up to the mount.
double quota_in(const hierarchy& in, std::string_view root, std::string_view memberships) {
  const std::optional<std::string> group = group_in(in.version, memberships);
  if (!group) return processor_limits::no_quota;
  const std::string top = std::string(root) + in.mounted_at;
  double least = processor_limits::no_quota;
  for (std::string path = below_mount(in, *group);; path.resize(path.rfind('/'))) {
    least = std::min(least, quota_of(in.version, top + path));
    if (path.empty()) return least;
  }
}

double least_quota(std::string_view root) {
  const std::string memberships = read_file(std::string(root) + "/proc/self/cgroup");
  const std::string mounts = read_file(std::string(root) + "/proc/self/mountinfo");
  double least = processor_limits::no_quota;
  for (std::string_view rest = mounts; !rest.empty();) {
    if (const std::optional<hierarchy> found = to_hierarchy(cut(rest, '\n')))
      least = std::min(least, quota_in(*found, root, memberships));
  }
  return least;
}

}  // namespace

std::uint32_t processor_limits::effective() const noexcept {
  const double most = std::min(static_cast<double>(allowed), std::ceil(quota));
  return std::max(1U, static_cast<std::uint32_t>(most));
}

processor_limits read_processor_limits(pid_t thread, std::string_view root) noexcept {
  processor_limits found;
  try {
    found.allowed = std::max(1U, count_allowed(thread));
    found.quota = least_quota(root);
  } catch (const std::exception&) {  // no memory: what was found so far
  }
  return found;
}

}  // namespace weft::impl
