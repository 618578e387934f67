// SPDX-License-Identifier: Apache-2.0

#include "sched/registry.hpp"

#include "base/thread_annotations.hpp"
#include "sched/commons.hpp"
#include "sched/fork_watch.hpp"

#include <cstddef>
#include <new>

namespace weft::impl {
namespace {

/// Never destroyed: a runtime may be of static duration in somebody's program, though it should not.
class all_runtimes : public forked_party {
 public:
  static all_runtimes& instance() noexcept {
    alignas(all_runtimes) static std::byte room[sizeof(all_runtimes)];  // there is memory for it, always
    static auto* const only = new (room) all_runtimes;
    return *only;
  }

  default_platform::mutex lock;
  intrusive_list<commons, registry_tag> all WEFT_GUARDED_BY(lock);

 private:
  all_runtimes() noexcept : forked_party([](forked_party& /*self*/) noexcept {}, &hold) {}

  static void hold(forked_party& self, bool take) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    default_platform::mutex& held = static_cast<all_runtimes&>(self).lock;
    take ? held.lock() : held.unlock();
  }
};

}  // namespace

void add_runtime(commons& made) noexcept {
  all_runtimes& here = all_runtimes::instance();
  const scoped_hold hold(here.lock);
  here.all.push_back(made);
}

void remove_runtime(commons& gone) noexcept {
  all_runtimes& here = all_runtimes::instance();
  const scoped_hold hold(here.lock);
  if (static_cast<list_node<registry_tag>&>(gone).is_linked()) here.all.erase(gone);
}

registry_place place_of_registry() WEFT_NO_THREAD_SAFETY_ANALYSIS {
  const all_runtimes& here = all_runtimes::instance();
  return {here.all.head(), list_node<registry_tag>::offset_of_next()};
}

void for_each_runtime(void (*function)(commons& each, void* with), void* with) {
  all_runtimes& here = all_runtimes::instance();
  const scoped_hold hold(here.lock);
  for (commons& each : here.all) {
    if (!each.is_forked()) function(each, with);
  }
}

}  // namespace weft::impl
