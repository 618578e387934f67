// SPDX-License-Identifier: Apache-2.0

#include "sched/running_task.hpp"

#include "base/unwatched.hpp"
#include "sched/identity.hpp"
#include "sched/loop.hpp"

#include <algorithm>

namespace weft::impl {

// On the thread of the task, which cannot end meanwhile; in a signal handler, where ThreadSanitizer does not know who runs.
WEFT_UNWATCHED void running_task::answer(void* raw) noexcept {
  const unwatched_section in;
  auto& mine = *static_cast<running_task*>(raw);
  const worker* const here = current_worker();
  if (here == nullptr || here->is_between_stacks()) return;
  const task* const running = current_task();
  // One that has ended is still there for a moment, but its record may be another's already.
  if (running == nullptr || running->outcome.load(std::memory_order_relaxed) != task_outcome::begun) return;
  mine.id = running->has(task_mark::main) ? 0 : running->id();
  mine.spawned_at = running->spawned_at();
  const std::string_view name = running->name();
  mine.name_length = std::min(name.size(), sizeof mine.name);
  std::copy_n(name.begin(), mine.name_length, mine.name);
  mine.is_known = true;
}

void running_task::append_to(text_line& line) const noexcept {
  line << "task " << id;
  if (name_length != 0) line << " '" << std::string_view(name, name_length) << "'";
  if (spawned_at.file != nullptr) line << " (spawned at " << spawned_at.file << ":" << spawned_at.line << ")";
}

}  // namespace weft::impl
