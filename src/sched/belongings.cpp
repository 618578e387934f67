// SPDX-License-Identifier: Apache-2.0

#include "sched/belongings.hpp"

#include "sched/loop.hpp"
#include "sys/thread_value.hpp"

#include <atomic>
#include <memory>
#include <new>

namespace weft::impl {
namespace {

/// What a plain thread has.
struct thread_belongings {
  local_values locals;
  context_node* context = nullptr;

  thread_belongings() noexcept = default;
  thread_belongings(const thread_belongings&) = delete;
  thread_belongings& operator=(const thread_belongings&) = delete;
  ~thread_belongings() { drop_context(context); }
};

thread_belongings* find_own() noexcept { return static_cast<thread_belongings*>(get_thread_value()); }

thread_belongings& make_own() {
  if (thread_belongings* const found = find_own()) return *found;
  auto made = std::make_unique<thread_belongings>();
  const auto destroy = [](void* raw) noexcept { delete static_cast<thread_belongings*>(raw); };
  if (!set_thread_value(made.get(), destroy)) throw std::bad_alloc();
  return *made.release();
}

}  // namespace

context_node* context_of_thread() noexcept {
  const thread_belongings* const own = find_own();
  return own == nullptr ? nullptr : own->context;
}

}  // namespace weft::impl

namespace weft::detail {

std::uint32_t new_local_number() noexcept {
  static std::atomic<std::uint32_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);  // relaxed: any order will do
}

local_slot& local_slot_of(std::uint32_t number) {
  impl::task* const self = impl::current_task();
  return self == nullptr ? impl::make_own().locals.at(number) : self->make_extras().locals.at(number);
}

const context_node* current_context() noexcept {
  const impl::task* const self = impl::current_task();
  return self == nullptr ? impl::context_of_thread() : self->context_or_null();
}

void enter_context(context_node& made) noexcept {
  if (impl::task* const self = impl::current_task()) {
    made.outer = self->context_or_null();
    made.opened_by = self;
    made.life = self->id();
    self->set_context(&made);
  } else {
    impl::thread_belongings& own = impl::make_own();  // without memory that ends the program
    made.outer = own.context;
    own.context = &made;
  }
}

// The block's hold on what is around it goes over to whoever has it now: to the value, if others still have it.
void leave_context() noexcept {
  impl::task* const self = impl::current_task();
  context_node* const left = self != nullptr ? self->context_or_null() : impl::context_of_thread();
  context_node* const outer = impl::share_context(left->outer);
  if (self != nullptr) {
    self->set_context(outer);
  } else {
    impl::make_own().context = outer;
  }
  impl::drop_context(left);
}

}  // namespace weft::detail
