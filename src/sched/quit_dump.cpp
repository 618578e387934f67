// SPDX-License-Identifier: Apache-2.0

#include "sched/quit_dump.hpp"

#include "base/report.hpp"
#include "sched/fork_watch.hpp"
#include "sys/platform.hpp"
#include "sys/quit_signal.hpp"

#include <weft/dump.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace weft::impl {
namespace {

// There is one, for ever: runtimes come and go.
struct shared_dump : forked_party {
  shared_dump() noexcept : forked_party(&forget) { prepare_quit(); }

  // In a forked child: the thread is not there, nor is anybody who has the lock, and the runtimes that wanted it are of no use.
  static void forget(forked_party& self) noexcept {
    auto& mine = static_cast<shared_dump&>(self);
    new (&mine.lock) default_platform::mutex;
    new (&mine.thread) default_platform::thread;
    mine.wanted = 0;
    if (std::exchange(mine.was_begun, false)) release_quit();
    ++mine.process;
  }

  default_platform::mutex lock;
  int wanted = 0;             // by so many
  bool was_begun = false;     // ever
  std::uint32_t process = 1;  // counts forks
  default_platform::thread thread;
  std::atomic<bool> is_ending{false};
};

shared_dump& the_dump() noexcept {
  alignas(shared_dump) static std::byte room[sizeof(shared_dump)];  // there is memory for it, always
  static auto* const only = new (room) shared_dump;
  return *only;
}

void run_dumps(void* /*unused*/) {
  for (;;) {
    wait_for_quit();
    if (the_dump().is_ending.load(std::memory_order_acquire)) return;  // [QD-end]
    try {
      report_as_it_is(dump());
    } catch (const std::bad_alloc&) {
      report(text_line() << "no memory for a dump");
    }
  }
}

}  // namespace

result<void> quit_dump::try_begin() noexcept {
  shared_dump& shared = the_dump();
  const scoped_hold hold(shared.lock);
  if (shared.wanted == 0) {
    shared.is_ending.store(false, std::memory_order_relaxed);
    result<default_platform::thread> started =
        default_platform::thread::start(&run_dumps, nullptr, {.name = "weft-dump"});
    if (!started) return started.error();
    shared.thread = std::move(*started);
    shared.was_begun = true;
    catch_quit();
  }
  ++shared.wanted;
  begun_in_ = shared.process;
  return {};
}

quit_dump::~quit_dump() {
  if (begun_in_ == 0) return;
  shared_dump& shared = the_dump();
  const scoped_hold hold(shared.lock);
  if (begun_in_ != shared.process || --shared.wanted != 0) return;
  shared.is_ending.store(true, std::memory_order_release);  // [QD-end] pairs with run_dumps()
  call_off_wait();
  shared.thread.join();
  release_quit();
}

}  // namespace weft::impl
