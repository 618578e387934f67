// SPDX-License-Identifier: Apache-2.0

#include "sched/unobserved.hpp"

#include "base/report.hpp"
#include "sched/task_name.hpp"

#include <cstdlib>
#include <exception>

namespace weft::impl {

void report_unobserved(task& failed) noexcept {
  text_line line;
  append_task(line, failed);
  line << " failed and nobody looked at it: ";
  try {
    std::rethrow_exception(detail::error_in(failed.body));
  } catch (const std::exception& error) {
    line << error.what();
  } catch (...) {
    line << "an exception that is no std::exception";
  }
  line << "; join its handle, or catch inside the task";
  report(line);
  std::abort();
}

}  // namespace weft::impl
