// SPDX-License-Identifier: Apache-2.0
//
// Third stop: a fiber that runs past the end of its stack is caught and named. It happens in a child process,
// since the process it happens in ends.

#include "stack/manual_fiber.hpp"
#include "stack/overflow.hpp"
#include "tour.hpp"

#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tour {

// Never equal to a depth that is reached, which the compiler cannot know.
static volatile int bottomless = -1;

// Not in the unnamed namespace: exported functions have names in backtraces.
__attribute__((noinline)) int parse_nested_brackets(int depth) {
  volatile char token[300];
  token[0] = 1;
  if (depth == bottomless) return 0;
  return parse_nested_brackets(depth + 1) + token[0];
}

namespace {

namespace impl = weft::impl;

[[noreturn]] void overflow_in_a_fiber() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  impl::stack_pool pool;
  impl::attached_carrier carrier;
  impl::alternate_stack faults;
  if (!impl::install_overflow_handler() || !faults.install()) std::_Exit(2);
  impl::manual_fiber parser(pool, impl::stack_class(),
                            {.id = 17, .name = "json-parser", .site = impl::source_site::current()},
                            [](impl::manual_fiber&) { parse_nested_brackets(0); });
  parser.resume();
  std::_Exit(0);
}

}  // namespace

bool show_overflow(const options&) {
  heading("3. Overflow: a fiber recurses without end (in a child process)");
  std::fflush(nullptr);
  int ends[2];
  if (::pipe(ends) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    overflow_in_a_fiber();
  }
  ::close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);

  // The report, and the innermost calls of it.
  std::size_t shown = 0;
  for (int line = 0; line < 5 && shown < said.size(); ++line) {
    const std::size_t end = said.find('\n', shown);
    std::printf("   | %s\n", said.substr(shown, end - shown).c_str());
    shown = end == std::string::npos ? said.size() : end + 1;
  }
  std::printf("   | ...\n");
  const bool named = said.find("stack overflow in fiber 17 'json-parser'") != std::string::npos;
  std::printf("   the child ended by signal %d (SIGABRT is %d); nothing else was touched\n",
              WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGABRT);
  return named && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace tour
