// SPDX-License-Identifier: Apache-2.0

#include <weft/error.hpp>

#include <cstddef>
#include <new>
#include <string>

namespace weft {
namespace {

class category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "weft"; }

  [[nodiscard]] std::string message(int code) const override { return text(static_cast<errc>(code)); }

  // A program that only knows the standard's conditions can still tell these apart.
  [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
    switch (static_cast<errc>(code)) {
      case errc::closed: return std::errc::broken_pipe;
      case errc::timed_out: return std::errc::timed_out;
      case errc::cancelled: return std::errc::operation_canceled;
      case errc::would_block: return std::errc::operation_would_block;
      case errc::memory_budget_exhausted:
      case errc::out_of_stacks:
      case errc::mapping_limit:
      case errc::out_of_memory: return std::errc::not_enough_memory;
      case errc::invalid_stack_size: return std::errc::invalid_argument;
      case errc::shadow_stack_active: return std::errc::not_supported;
      default: return {code, *this};
    }
  }

 private:
  static const char* text(errc code) noexcept {
    switch (code) {
      case errc::closed: return "closed: nothing more can be sent or received";
      case errc::timed_out: return "the deadline passed before the operation completed";
      case errc::cancelled: return "cancelled: the fiber was asked to stop";
      case errc::would_block: return "the operation would have to wait";
      case errc::spawn_budget_exhausted:
        return "spawn budget exhausted: recharge the task to let it spawn more";
      case errc::memory_budget_exhausted:
        return "memory budget exhausted: recharge the task to let it allocate more";
      case errc::nursery_not_active: return "no nursery is active here to own the new task";
      case errc::stack_overflow: return "the task ran past the end of its stack";
      case errc::worker_panic: return "a worker failed and was replaced";
      case errc::invalid_stack_size: return "stack size outside 8 KiB to 8 MiB";
      case errc::out_of_stacks: return "no address space or memory left for another stack";
      case errc::mapping_limit:
        return "another guarded stack would pass the kernel's limit on mappings: raise vm.max_map_count";
      case errc::shadow_stack_active:
        return "a hardware shadow stack is active in this process, which the context switch does not support";
      case errc::out_of_memory: return "no memory left for another task";
      case errc::no_runtime: return "no runtime here: call weft::run, or spawn into a weft::runtime";
      case errc::forked:
        return "this process was forked, and the runtime's workers are in its parent: make a runtime of its "
               "own here";
      case errc::shut_down: return "the runtime or execution context shuts down, and takes no more tasks";
      case errc::wrong_context: return "the execution context belongs to another runtime";
      case errc::isolated_context:
        return "the execution context is isolated: it runs its own function, and nothing else";
      case errc::single_threaded:
        return "the runtime has a single thread (by WEFT_SINGLE_THREADED, or runs_on::caller), and no "
               "context that needs another";
      case errc::already_started:
        return "the default runtime has been started already: configure it before anything is spawned";
    }
    return "unknown weft error";
  }
};

// Made at the first use and never destroyed, so that it serves during static initialisation and exit alike.
const category& instance() noexcept {
  alignas(category) static std::byte storage[sizeof(category)];
  static const category* const only = new (storage) category;
  return *only;
}

}  // namespace

const std::error_category& error_category() noexcept { return instance(); }

}  // namespace weft
