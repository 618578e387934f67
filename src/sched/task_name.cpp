// SPDX-License-Identifier: Apache-2.0

#include "sched/task_name.hpp"

#include "sched/loop.hpp"

namespace weft::impl {

void append_task(text_line& line, const task& named) noexcept {
  line << "task " << named.id();
  if (!named.name().empty()) line << " '" << named.name() << "'";
  if (const source_site site = named.spawned_at(); site.file != nullptr)
    line << " (spawned at " << site.file << ":" << site.line << ")";
}

void append_running_task(text_line& line) noexcept {
  const task* const running = current_task();
  if (running == nullptr) return;
  line << ", in ";
  append_task(line, *running);
}

}  // namespace weft::impl
