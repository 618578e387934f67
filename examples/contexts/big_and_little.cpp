// SPDX-License-Identifier: Apache-2.0
//
// big_and_little — contexts that keep to some of the processors, and give way to others.
//
// Where a machine has fast and slow processors, or where one is kept free for something urgent: what must be quick runs on some, what
// has time on the others, and politely.
#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

// Those that this process may use, in two halves; one processor is both.
struct halves {
  std::vector<std::uint32_t> fast;
  std::vector<std::uint32_t> slow;
};
halves split_processors() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &usable)) all.push_back(i);
  }
  const std::size_t middle = all.size() / 2;
  if (middle == 0) return {all, all};
  const auto cut = all.begin() + static_cast<std::ptrdiff_t>(middle);
  return {{all.begin(), cut}, {cut, all.end()}};
}

struct whereabouts {
  int processor = -1;
  int niceness = 0;
};
whereabouts look() { return {sched_getcpu(), getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()))}; }

bool is_one_of(int processor, const std::vector<std::uint32_t>& some) {
  for (const std::uint32_t each : some) {
    if (static_cast<int>(each) == processor) return true;
  }
  return false;
}

}  // namespace

int main() {
  return weft::run([] {
    const halves all = split_processors();
    weft::parallel_context urgent("urgent", {.processors = all.fast});
    weft::parallel_context patient("patient", {.processors = all.slow, .niceness = 10});

    bool is_right = true;
    for (int i = 0; i < 20; ++i) {
      const whereabouts quick = urgent.spawn(look).join();
      const whereabouts slow = patient.spawn(look).join();
      is_right = is_right && is_one_of(quick.processor, all.fast) && is_one_of(slow.processor, all.slow) &&
                 slow.niceness == 10;
    }
    std::printf("'urgent' has %u workers on %zu processors, 'patient' %u on %zu, with niceness 10: %s\n",
                urgent.workers(), all.fast.size(), patient.workers(), all.slow.size(),
                is_right ? "yes" : "NO");
    return is_right ? 0 : 1;
  });
}
