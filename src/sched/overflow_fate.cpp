// SPDX-License-Identifier: Apache-2.0

#include "sched/overflow_fate.hpp"

#include "arch/fault.hpp"
#include "arch/switch.hpp"
#include "sched/loop.hpp"
#include "sched/pool.hpp"

#include <cstddef>
#include <dlfcn.h>
#include <features.h>

namespace weft::impl {
namespace {

stack_owner task_on(const stack_slot& stack) noexcept {
  const task* const running = fiber::of(stack).running;
  if (running == nullptr) return {.name = "(a worker)"};
  return {.id = running->id(),
          .name = running->name().empty() ? nullptr : running->name().data(),
          .site = running->spawned_at()};
}

// On the stack of the thread. Nobody comes back to where it stands now.
[[noreturn]] WEFT_UNWATCHED WEFT_SWITCHES void leave_for_good(void* raw) noexcept {
  worker& here = *static_cast<worker*>(raw);
  fiber& gone = running_fiber(here);
  here.leave_duty(worker::duty::abandon, &gone);
  switch_context<switch_edge::unordered>(here, gone, here.take_spare());
  __builtin_trap();
}

// Whether two addresses lie in one executable or shared library. By a function that takes no lock, where there is one.
bool are_in_one_object(const void* one, const void* other) noexcept {
#if __GLIBC_PREREQ(2, 35)
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(one), &found) != 0) return false;
  return other >= found.dlfo_map_start && other < found.dlfo_map_end;
#else
  (void)one;
  (void)other;
  return false;
#endif
}

// Whether a task may be taken off where it stands: it is at nobody's but its own. In another library than its function's it may be
// at anything; most of all at the heap, whose lock would stay locked. (A heap that is linked into the program cannot be told from it.)
bool may_be_abandoned(worker& here, const void* instruction) noexcept {
  if (here.current == &here.native || here.is_between_stacks() || here.low_stack_depth != 0) return false;
  const task* const running = running_fiber(here).running;
  if (running == nullptr || !are_in_one_object(instruction, function_of(*running))) return false;
  const wait_word wait = running->claim.word_approx();
  return !wait.is_claimable() && !wait.is_claimed();
}

}  // namespace

const stack_owner whoever_runs{.now_on = &task_on};

overflow_verdict decide_on_overflow(const overflow_event& event) noexcept {
  constexpr std::ptrdiff_t red_zone = 256;
  worker* const here = current_worker();
  if (here == nullptr || !here->all().options().fails_tasks_that_overflow ||
      !may_be_abandoned(*here, interrupted_by_signal(event.signal_context).instruction))
    return overflow_verdict::abort;
  auto* const high = const_cast<char*>(static_cast<const char*>(here->native.lowest_in_use())) - red_zone;
  return divert(event.signal_context, high, &leave_for_good, here) ? overflow_verdict::diverted
                                                                   : overflow_verdict::abort;
}

}  // namespace weft::impl
