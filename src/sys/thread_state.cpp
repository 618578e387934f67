// SPDX-License-Identifier: Apache-2.0

#include "sys/thread_state.hpp"

#include "base/text.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::impl {

pid_t this_thread_number() noexcept { return static_cast<pid_t>(::syscall(SYS_gettid)); }

thread_state parse_thread_state(std::string_view stat) noexcept {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size() || stat[name_end + 1] != ' ')
    return thread_state::unknown;
  switch (stat[name_end + 2]) {
    case 'R': return thread_state::computing;
    case 'S':
    case 'D': return thread_state::waiting;
    default: return thread_state::unknown;
  }
}

thread_state look_at_thread(pid_t number) noexcept {
  text_line path;
  path << "/proc/self/task/" << static_cast<std::uint64_t>(number) << "/stat" << std::string_view("\0", 1);
  const int file = ::open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return thread_state::unknown;
  char text[512];
  ssize_t got = 0;
  do got = ::read(file, text, sizeof text);
  while (got < 0 && errno == EINTR);
  ::close(file);
  return got <= 0 ? thread_state::unknown : parse_thread_state({text, static_cast<std::size_t>(got)});
}

}  // namespace weft::impl
