// SPDX-License-Identifier: Apache-2.0

#include "stack/manual_fiber.hpp"

#include <utility>

namespace weft::impl {

manual_fiber::manual_fiber(stack_pool& pool, stack_class size_class, const stack_owner& owner, function body)
    : pool_(pool), slot_(**pool.take(size_class)), owner_(owner), body_(std::move(body)) {
  slot_.owner.store(&owner_, std::memory_order_relaxed);  // read by the thread that will run the fiber
  make_context(context_, slot_.low, slot_.size(), &run, this);
}

manual_fiber::~manual_fiber() {
  WEFT_CHECK(!running_, "M1: a fiber is not destroyed while it runs");
  forget_context(context_);
  pool_.give(slot_);
}

bool manual_fiber::resume() noexcept {
  WEFT_CHECK(!finished_, "M1: a finished fiber was resumed");
  carrier* const here = current_carrier();
  WEFT_CHECK(here != nullptr, "a fiber is resumed on a thread that carries fibers");
  running_ = true;
  switch_context<switch_edge::ordered>(*here, here->native, context_);
  running_ = false;
  return finished_;
}

void manual_fiber::pause() noexcept {
  carrier* const here = current_carrier();
  switch_context<switch_edge::ordered>(*here, context_, here->native);
}

void manual_fiber::finish() noexcept {
  finished_ = true;
  carrier* const here = current_carrier();
  switch_for_good<switch_edge::ordered>(*here, context_, here->native);
}

void manual_fiber::run(void* raw) {
  auto* const self = static_cast<manual_fiber*>(raw);
  begin_context(self->context_);
  self->body_(*self);
  self->finish();
}

}  // namespace weft::impl
