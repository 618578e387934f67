// SPDX-License-Identifier: Apache-2.0

#include "stack/overflow.hpp"

#include "arch/fault.hpp"
#include "base/report.hpp"
#include "stack/registry.hpp"
#include "sys/backtrace.hpp"
#include "sys/fault_handler.hpp"
#include "sys/memory.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <sys/auxv.h>

namespace weft::impl {
namespace {

// relaxed: a pointer to code has no state of its own that would need to be visible with it.
std::atomic<overflow_policy> current_policy{nullptr};

void name_owner(text_line& line, const stack_owner* owner) noexcept {
  if (owner == nullptr) {
    line << "an unnamed fiber";
    return;
  }
  line << "fiber " << owner->id;
  if (owner->name != nullptr) line << " '" << owner->name << "'";
}

void report_overflow(const overflow_event& event) noexcept {
  text_line line;
  line << "stack overflow in ";
  name_owner(line, event.owner);
  line << " (stack ";
  append_size(line, event.stack->size());
  if (event.owner != nullptr && event.owner->site.file != nullptr) {
    line << ", spawned at " << event.owner->site.file << ":" << event.owner->site.line;
  }
  const auto below = static_cast<std::uint64_t>(event.stack->low - static_cast<const char*>(event.fault));
  line << "): touched " << below
       << " bytes below its end; give it a larger stack, or look for endless recursion";
  report(line);
  report_backtrace(interrupted_by_signal(event.signal_context).instruction);
}

// The guard was hit, but by code that runs on another stack: a stray pointer or a buffer overrun upwards.
void report_stray_access(const stack_location& guard, const void* stack_pointer) noexcept {
  text_line line;
  line << "the guard below the stack of ";
  name_owner(line, guard.slot->owner.load(std::memory_order_relaxed));
  line << " was touched by code running on ";
  if (const stack_location runner = find_stack(stack_pointer)) {
    line << "the stack of ";
    name_owner(line, runner.slot->owner.load(std::memory_order_relaxed));
  } else {
    line << "a stack that is not weft's";
  }
  line << ": a stray pointer or a buffer overrun, not an overflow";
  report(line);
}

// Whether the code that touched the guard runs on the stack above it, and has so come to its end.
bool runs_on(const stack_location& where, const interrupted_code& code) noexcept {
  if (code.stack_pointer == nullptr) return true;  // unknown on this processor: believe the address
  const auto* const guard = where.in->guard_of(where.index);
  const auto* const stack_pointer = static_cast<const char*>(code.stack_pointer);
  if (stack_pointer >= guard && stack_pointer <= where.slot->high()) return true;
  // A large frame may move the stack pointer over the guard before it touches it; its caller's frame tells.
  return stack_pointer >= guard - probe_above_stack_pointer && stack_pointer < guard &&
         where.slot->holds(code.frame_pointer);
}

// Takes the fault if it is an overflow; otherwise lets the handler before it have it.
fault_verdict on_fault(const siginfo_t& info, void* signal_context) noexcept {
  const stack_location hit = find_stack(info.si_addr);
  if (!hit || hit.slot->holds(info.si_addr)) return fault_verdict::not_ours;
  const interrupted_code code = interrupted_by_signal(signal_context);
  if (!runs_on(hit, code)) {
    report_stray_access(hit, code.stack_pointer);
    return fault_verdict::not_ours;
  }
  // relaxed: written by the very thread that faulted.
  const overflow_event event{hit.slot, hit.slot->owner.load(std::memory_order_relaxed), info.si_addr,
                             signal_context};
  report_overflow(event);
  if (overflow_policy policy = current_policy.load(std::memory_order_relaxed)) policy(event);
  std::abort();
}

}  // namespace

overflow_policy set_overflow_policy(overflow_policy policy) noexcept {
  return current_policy.exchange(policy, std::memory_order_relaxed);
}

result<void> install_overflow_handler() noexcept {
  prepare_backtrace();
  return install_fault_handler(&on_fault);
}

result<void> alternate_stack::install() noexcept {
  WEFT_CHECK(memory_ == nullptr, "an alternate stack is installed once");
  // Room for the kernel's frame (large with wide vector registers), the report and the unwinder.
  const std::size_t page = system_memory::page_size();
  const std::size_t frame = ::getauxval(AT_MINSIGSTKSZ);
  const std::size_t usable = (frame + (std::size_t{64} << 10U) + page - 1) / page * page;
  const result<void*> memory = system_memory::reserve(page + usable);
  if (!memory) return memory.error();
  // Below it one page that faults: a fault inside a fault ends the process, as it should.
  (void)system_memory::guard_by_protection(*memory, page);
  stack_t mine{};
  mine.ss_sp = static_cast<char*>(*memory) + page;
  mine.ss_size = usable;
  stack_t before{};
  if (::sigaltstack(&mine, &before) != 0) {
    system_memory::release(*memory, page + usable);
    return std::make_error_code(std::errc::not_enough_memory);  // the one thing sigaltstack can refuse here
  }
  memory_ = *memory;
  bytes_ = page + usable;
  before_low_ = before.ss_sp;
  before_bytes_ = before.ss_size;
  before_flags_ = before.ss_flags;
  return {};
}

void alternate_stack::remove() noexcept {
  if (memory_ == nullptr) return;
  stack_t before{};
  before.ss_sp = before_low_;
  before.ss_size = before_bytes_;
  before.ss_flags = before_low_ == nullptr ? SS_DISABLE : before_flags_;
  const int outcome = ::sigaltstack(&before, nullptr);
  WEFT_CHECK(outcome == 0,
             "an alternate stack is removed by the thread that installed it, and not from a handler");
  system_memory::release(memory_, bytes_);
  memory_ = nullptr;
}

}  // namespace weft::impl
