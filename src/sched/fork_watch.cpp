// SPDX-License-Identifier: Apache-2.0

#include "sched/fork_watch.hpp"

#include "base/thread_annotations.hpp"
#include "sys/fork.hpp"
#include "sys/platform.hpp"

#include <cstddef>
#include <new>

namespace weft::impl {

/// All parties, behind a lock that is held over fork(), so that the child finds the list whole. Never destroyed: a runtime may
/// be of static duration in somebody's program, though it should not.
class fork_watch {
 public:
  static fork_watch& instance() noexcept {
    alignas(fork_watch) static std::byte room[sizeof(fork_watch)];  // there is memory for it, always
    static auto* const only = new (room) fork_watch;
    return *only;
  }

  void add(forked_party& party) noexcept {
    const scoped_hold hold(lock_);
    parties_.push_back(party);
  }
  void remove(forked_party& party) noexcept {
    const scoped_hold hold(lock_);
    parties_.erase(party);
  }

 private:
  // Where the system has no room for the handlers, a child is as without them: its waits do not end.
  fork_watch() noexcept { (void)watch_forks(&before, &in_parent, &in_child); }

  static void before() WEFT_NO_THREAD_SAFETY_ANALYSIS {
    instance().lock_.lock();
    hold_all(true);
  }
  static void in_parent() WEFT_NO_THREAD_SAFETY_ANALYSIS {
    hold_all(false);
    instance().lock_.unlock();
  }
  static void in_child() WEFT_NO_THREAD_SAFETY_ANALYSIS {
    hold_all(false);
    for (forked_party& each : instance().parties_) each.note_(each);
    instance().lock_.unlock();
  }
  static void hold_all(bool take) WEFT_NO_THREAD_SAFETY_ANALYSIS {
    for (forked_party& each : instance().parties_) {
      if (each.hold_ != nullptr) each.hold_(each, take);
    }
  }

  default_platform::mutex lock_;
  intrusive_list<forked_party, fork_tag> parties_ WEFT_GUARDED_BY(lock_);
};

forked_party::forked_party(note_function note, hold_function hold) noexcept : note_(note), hold_(hold) {
  fork_watch::instance().add(*this);
}
forked_party::~forked_party() { fork_watch::instance().remove(*this); }

}  // namespace weft::impl
