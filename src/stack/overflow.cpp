// SPDX-License-Identifier: Apache-2.0

#include "stack/overflow.hpp"

#include "arch/carrier.hpp"
#include "arch/fault.hpp"
#include "base/report.hpp"
#include "stack/registry.hpp"
#include "sys/backtrace.hpp"
#include "sys/fault_handler.hpp"
#include "sys/platform.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <pthread.h>
#include <sys/auxv.h>

namespace weft::impl {
namespace {

using memory = default_platform::memory;

// relaxed: a pointer to code has no state of its own that would need to be visible with it.
std::atomic<overflow_policy> current_policy{nullptr};

// What a signal may need beside what the kernel counts as its frame.
constexpr std::size_t signal_frame_slack = 1024;

// How far below the stack pointer a function may write without moving it, and some.
constexpr std::ptrdiff_t red_zone = 512;

// Who runs on a stack; null if nobody knows.
const stack_owner* owner_of(const stack_slot& slot, stack_owner& room) noexcept {
  // relaxed: written by the very thread that faulted.
  const stack_owner* const owner = slot.owner.load(std::memory_order_relaxed);
  if (owner == nullptr || owner->now_on == nullptr) return owner;
  room = owner->now_on(slot);
  return &room;
}

void name_owner(text_line& line, const stack_owner* owner) noexcept {
  if (owner == nullptr) {
    line << "an unnamed fiber";
    return;
  }
  line << "fiber " << owner->id;
  if (owner->name != nullptr) line << " '" << owner->name << "'";
}

void report_overflow(const overflow_event& event, const char* what) noexcept {
  text_line line;
  line << "stack overflow in ";
  name_owner(line, event.owner);
  line << " (stack ";
  append_size(line, event.stack->size());
  if (event.owner != nullptr && event.owner->site.file != nullptr) {
    line << ", spawned at " << event.owner->site.file << ":" << event.owner->site.line;
  }
  line << "): " << what << "; give it a larger stack, or look for endless recursion";
  report(line);
  report_backtrace(interrupted_by_signal(event.signal_context).instruction);
}

// The stack that the faulting thread runs on now, as its carrier knows it; empty on a thread's own stack, and on
// threads that carry no fibers. Not by the stack pointer, which may have left the stack by a long way.
stack_location running_stack() noexcept {
  const carrier* const here = current_carrier();
  return here == nullptr ? stack_location() : process_slabs.find(here->current->stack_low);
}

// A guard was hit by code that has not come to the end of its own stack. Whose guard it is cannot be said: that
// fiber may be running elsewhere, and its name may be gone.
void report_stray_access(const stack_location& runner) noexcept {
  text_line line;
  line << "a stack's guard was touched by code running on ";
  if (runner) {
    line << "the stack of ";
    stack_owner room;
    name_owner(line, owner_of(*runner.slot, room));
  } else {
    line << "a stack that is not weft's";
  }
  line << ", which has not come to its end: a stray pointer or a buffer overrun";
  report(line);
}

fault_verdict overflowed(const stack_slot& slot, const siginfo_t& info, void* signal_context,
                         const char* what) noexcept {
  stack_owner room;
  const overflow_event event{&slot, owner_of(slot, room), info.si_addr, signal_context};
  report_overflow(event, what);
  const overflow_policy policy = current_policy.load(std::memory_order_relaxed);
  if (policy == nullptr || policy(event) == overflow_verdict::abort) std::abort();
  return fault_verdict::handled;
}

// Whether the interrupted code was a signal handler on this thread's alternate stack, as we are.
bool on_alternate_stack(const char* stack_pointer) noexcept {
  stack_t alternate{};
  ::sigaltstack(nullptr, &alternate);
  const auto* const low = static_cast<const char*>(alternate.ss_sp);
  return stack_pointer >= low && stack_pointer < low + alternate.ss_size;
}

// Whether code that runs on the stack has left it at its lower end, by no more than a frame may be large.
bool left_at_lower_end(const stack_slot& slot, const char* stack_pointer) noexcept {
  return stack_pointer < slot.low && stack_pointer >= slot.low - 2 * stack_class::largest &&
         !on_alternate_stack(stack_pointer);
}

// Takes the fault if it is an overflow; otherwise lets the handler before it have it.
//
// The running stack is left at its lower end, and then whatever is touched is its overflow, be it its own guard
// or, by a large frame that was not probed, memory far below. A guard touched while the stack pointer is still
// well on the stack is nobody's overflow.
fault_verdict on_fault(const siginfo_t& info, void* signal_context) noexcept {
  const stack_location runner = running_stack();
  const auto* const sp = static_cast<const char*>(interrupted_by_signal(signal_context).stack_pointer);
  if (runner && info.si_code == SI_KERNEL && sp != nullptr) {
    // A signal found no room for its frame, and the kernel gives no address.
    const auto needed = static_cast<std::ptrdiff_t>(::getauxval(AT_MINSIGSTKSZ) + signal_frame_slack);
    if (sp - runner.slot->low < needed && sp <= runner.slot->high()) {
      return overflowed(*runner.slot, info, signal_context, "a signal arrived and its frame did not fit");
    }
    return fault_verdict::not_ours;
  }
  const stack_location hit = process_slabs.find(info.si_addr);
  const bool guard_hit = hit && !hit.slot->holds(info.si_addr);
  const bool own_guard = guard_hit && runner && hit.slot == runner.slot;
  // A push at the very end faults before the stack pointer has moved. Where it is not known, believe the address.
  const bool at_end =
      own_guard && (sp == nullptr || (sp >= runner.slot->low && sp - runner.slot->low < red_zone));
  if (at_end || (runner && sp != nullptr && left_at_lower_end(*runner.slot, sp))) {
    return overflowed(*runner.slot, info, signal_context, "it left its stack at the lower end");
  }
  if (guard_hit) report_stray_access(runner);
  return fault_verdict::not_ours;
}

}  // namespace

overflow_policy set_overflow_policy(overflow_policy policy) noexcept {
  return current_policy.exchange(policy, std::memory_order_relaxed);
}

result<void> install_overflow_handler() noexcept {
  prepare_backtrace();
  return install_fault_handler(&on_fault);
}

result<void> alternate_stack::reserve() noexcept {
  if (memory_ != nullptr) return {};
  // Room for the kernel's frame (large with wide vector registers), the report and the unwinder.
  const std::size_t page = memory::page_size();
  const std::size_t frame = ::getauxval(AT_MINSIGSTKSZ);
  const std::size_t usable = (frame + (std::size_t{64} << 10U) + page - 1) / page * page;
  const result<void*> reserved = memory::reserve(page + usable);
  if (!reserved) return reserved.error();
  // Below it one page that faults: a fault inside a fault ends the process, as it should.
  (void)memory::guard_by_protection(*reserved, page);
  memory_ = *reserved;
  bytes_ = page + usable;
  return {};
}

result<void> alternate_stack::install() noexcept {
  WEFT_CHECK(!is_installed_, "an alternate stack is installed once");
  if (const result<void> reserved = reserve(); !reserved) return reserved;
  stack_t mine{};
  mine.ss_sp = static_cast<char*>(memory_) + memory::page_size();
  mine.ss_size = bytes_ - memory::page_size();
  const bool installed = ::sigaltstack(&mine, &before_) == 0;
  WEFT_CHECK(installed, "an alternate stack is not installed from a signal handler that runs on one");
  is_installed_ = true;
  thread_ = ::pthread_self();
  return {};
}

void alternate_stack::remove() noexcept {
  if (memory_ == nullptr) return;
  if (std::exchange(is_installed_, false)) put_back();
  memory::release(std::exchange(memory_, nullptr), bytes_);
}

void alternate_stack::put_back() noexcept {
  WEFT_CHECK(::pthread_equal(thread_, ::pthread_self()) != 0,
             "an alternate stack is removed by the thread that installed it");
  stack_t now{};
  ::sigaltstack(nullptr, &now);
  const auto* const base = static_cast<const char*>(memory_);
  // Somebody may have put another one in its place since; then that stays.
  if (now.ss_sp <= base || now.ss_sp >= base + bytes_) return;
  before_.ss_flags &= SS_DISABLE;  // what it was used for meanwhile is no flag to be set
  const bool removed = ::sigaltstack(&before_, nullptr) == 0;
  WEFT_CHECK(removed, "an alternate stack is not removed from a signal handler that runs on it");
}

}  // namespace weft::impl
