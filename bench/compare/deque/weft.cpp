// SPDX-License-Identifier: Apache-2.0
//
// L1 to L4 for weft: weft::deque and weft::deque_channel, as a user has them.
#include "compare/deque/config.hpp"

#include <weft/deque.hpp>
#include <weft/deque_channel.hpp>
#include <weft/version.hpp>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>

namespace {

namespace bench = weft::bench;
namespace pieces = weft::bench::pieces;
using pieces::raw_task;

void report(const bench::options& opts, auto&& body) {
  bench::report(bench::ns_per_iteration(opts, body), "ns", "weft", WEFT_VERSION_STRING);
}

template <class Deque>
void pop_one(Deque& deque) {
  if (const std::optional<raw_task> task = deque.pop()) pieces::use(*task);
}

template <class Deque>
void fill(Deque& deque) {
  for (std::uint64_t i = 0; i < pieces::standing; ++i) deque.push(pieces::numbered(i));
}

void measure_owner(const bench::options& opts) {
  weft::deque<raw_task> deque;
  if (opts.variant == "last") {
    report(opts, [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        deque.push(pieces::numbered(i));
        pop_one(deque);
      }
    });
    return;
  }
  fill(deque);
  report(opts, [&](std::uint64_t count) {
    pieces::in_and_out(
        count, [&](const raw_task& task) { deque.push(task); }, [&] { pop_one(deque); });
  });
}

template <class Barriers>
void measure_steal(const bench::options& opts) {
  weft::deque<raw_task, Barriers> deque;
  report(opts, [&](std::uint64_t count) {
    pieces::in_and_out(
        count, [&](const raw_task& task) { deque.push(task); },
        [&] {
          if (const auto stolen = deque.steal()) pieces::use(*stolen);
        });
  });
}

template <class Barriers>
void measure_owner_beside_thief(const bench::options& opts) {
  weft::deque<raw_task, Barriers> deque;
  std::atomic<bool> done{false};
  std::thread thief([&done, end = deque.thief_end()] {
    while (!done.load(std::memory_order_relaxed)) {
      if (const auto stolen = end.steal()) {
        pieces::use(*stolen);
        pieces::work_for(pieces::thief_work);
      }
    }
  });
  fill(deque);
  report(opts, [&](std::uint64_t count) {
    pieces::in_and_out(
        count, [&](const raw_task& task) { deque.push(task); }, [&] { pop_one(deque); });
  });
  done.store(true, std::memory_order_relaxed);
  thief.join();
}

void measure_channel(const bench::options& opts) {
  weft::deque_channel<raw_task> channel(2);
  auto& me = channel.worker_at(0);
  const auto receive = [&] {
    if (const std::optional<raw_task> task = me.try_receive()) pieces::use(*task);
  };
  // A burst fits, so a send that is refused is a mistake of this program.
  const auto sent = [](bool accepted) {
    if (!accepted) std::abort();
  };
  report(opts, [&](std::uint64_t count) {
    if (opts.variant == "local") {
      pieces::in_and_out(
          count, [&](const raw_task& task) { sent(me.try_send(task)); }, receive);
    } else {
      pieces::in_and_out(
          count, [&](const raw_task& task) { sent(channel.try_send(task)); }, receive);
    }
  });
}

using measurement = void(const bench::options&);

// The measurement asked for; refuses what is none.
measurement* chosen(const bench::options& opts) {
  const std::string& variant = opts.variant;
  const bool symmetric = variant == "symmetric";
  if (opts.threads != (opts.workload == "L3" ? 2 : 1))
    bench::refuse("not with so many threads", opts.workload);
  if (opts.workload == "L1" && (variant == "push-pop" || variant == "last")) return &measure_owner;
  if (opts.workload == "L4" && (variant == "local" || variant == "outside")) return &measure_channel;
  if (!symmetric && variant != "asymmetric") bench::refuse("unknown variant", variant);
  if (opts.workload == "L2") {
    return symmetric ? &measure_steal<weft::barriers::symmetric> : &measure_steal<weft::barriers::asymmetric>;
  }
  if (opts.workload == "L3") {
    return symmetric ? &measure_owner_beside_thief<weft::barriers::symmetric>
                     : &measure_owner_beside_thief<weft::barriers::asymmetric>;
  }
  bench::refuse("unknown workload", opts.workload);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::options opts = bench::parse(argc, argv);
  chosen(opts)(opts);
}
