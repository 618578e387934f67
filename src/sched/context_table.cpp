// SPDX-License-Identifier: Apache-2.0

#include "sched/context_table.hpp"

#include "sched/fork_watch.hpp"
#include "sys/platform.hpp"

#include <weft/detail/assert.hpp>
#include <weft/error.hpp>

#include <atomic>
#include <cstddef>
#include <limits>
#include <new>

namespace weft::impl {
namespace {

constexpr std::size_t most_contexts = std::size_t{std::numeric_limits<context_id>::max()} + 1;

// Pages of it that were never written take no memory.
struct table {
  default_platform::mutex lock;
  std::size_t next = 1;  // where the search for a free number begins: so they are used again late
  std::atomic<pool*> entries[most_contexts]{};
  std::atomic<context_id> inner[most_contexts]{};  // relaxed: as good as the number that it is looked up by
};
constinit table contexts;

/// In a forked child nobody has the lock. What it guards is whole at any time.
class table_after_fork : public forked_party {
 public:
  static void watch() noexcept {
    alignas(table_after_fork) static std::byte room[sizeof(table_after_fork)];  // never destroyed
    [[maybe_unused]] static auto* const only = new (room) table_after_fork;
  }

 private:
  table_after_fork() noexcept
      : forked_party([](forked_party& /*self*/) noexcept { new (&contexts.lock) default_platform::mutex; }) {}
};

}  // namespace

result<context_id> add_context(pool& made, context_id inner) noexcept {
  table_after_fork::watch();
  const scoped_hold hold(contexts.lock);
  for (std::size_t tries = 1; tries < most_contexts; ++tries) {
    const std::size_t number = contexts.next;
    contexts.next = number + 1 == most_contexts ? 1 : number + 1;
    // relaxed: the lock orders it, and whoever looks has the number from a task of the context.
    if (contexts.entries[number].load(std::memory_order_relaxed) != nullptr) continue;
    contexts.inner[number].store(inner, std::memory_order_relaxed);
    contexts.entries[number].store(&made, std::memory_order_release);  // [XT-entry] pairs with find_context()
    return static_cast<context_id>(number);
  }
  return errc::out_of_memory;
}

void remove_context(context_id gone) noexcept {
  const scoped_hold hold(contexts.lock);
  WEFT_CHECK(contexts.entries[gone].load(std::memory_order_relaxed) != nullptr,
             "XT1: a context is removed twice");
  contexts.entries[gone].store(nullptr, std::memory_order_relaxed);
}

const void* place_of_contexts() noexcept { return contexts.entries; }

bool is_within(context_id one, context_id other) noexcept {
  while (one != other && one != 0) one = contexts.inner[one].load(std::memory_order_relaxed);
  return one == other;
}

pool* find_context(context_id number) noexcept {
  return contexts.entries[number].load(std::memory_order_acquire);  // [XT-entry]
}

}  // namespace weft::impl
