// SPDX-License-Identifier: Apache-2.0
//
// child — runs a function in a forked process and tells how it ended and what it said on standard error.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::testing {

struct child_outcome {
  int status = 0;
  std::string said;

  [[nodiscard]] bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
  [[nodiscard]] bool died_of(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
  [[nodiscard]] bool mentioned(const std::string& words) const {
    return said.find(words) != std::string::npos;
  }
};

/// Forks; the child runs f and exits with 0 if it returns. It leaves no core file.
template <class F>
child_outcome run_in_child(F&& f) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) std::abort();
  if (pid == 0) {
    ::close(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    f();
    std::_Exit(0);
  }
  ::close(ends[1]);
  child_outcome outcome;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    outcome.said.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  ::waitpid(pid, &outcome.status, 0);
  return outcome;
}

}  // namespace weft::testing
