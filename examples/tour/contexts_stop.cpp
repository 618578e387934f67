// SPDX-License-Identifier: Apache-2.0
//
// Eighth stop: execution contexts side by side, a worker that is blocked and replaced, and a task that hogs its worker and is named.

#include "base/report.hpp"
#include "tour.hpp"

#include <weft/execution_context.hpp>
#include <weft/nursery.hpp>
#include <weft/runtime.hpp>
#include <weft/statistics.hpp>
#include <weft/this_fiber.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tour {

using clock_type = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Exported, and not inlined: so that its name is seen in the backtrace.
[[gnu::noinline]] void count_for(milliseconds length) {
  const auto end = clock_type::now() + length;
  while (clock_type::now() < end) asm volatile("" ::: "memory");
}

namespace {

// How late a timer of a millisecond comes, at the median.
double lateness_us(int times) {
  std::vector<double> late;
  for (int i = 0; i < times; ++i) {
    const auto due = clock_type::now() + milliseconds(1);
    weft::this_fiber::sleep_until(due);
    late.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - due).count());
  }
  std::sort(late.begin(), late.end());
  return late[late.size() / 2];
}

bool show_side_by_side(const options& how) {
  const int times = how.brief ? 20 : 100;
  std::printf(
      "   A task wakes every millisecond while others compute 5 ms at a time; so late it is, at the "
      "median:\n");
  const auto measure = [times](weft::execution_context& computes, weft::execution_context& answers) {
    std::atomic<bool> stop{false};
    std::vector<weft::handle<void>> busy;
    for (int i = 0; i < 4; ++i)
      busy.push_back(computes.spawn([&stop] {
        while (!stop.load()) {
          count_for(milliseconds(5));
          weft::this_fiber::yield();
        }
      }));
    const double late = answers.spawn([times] { return lateness_us(times); }).join();
    stop.store(true);
    for (auto& each : busy) each.join();
    return late;
  };
  const weft::runtime_options as_they_are{.workers = 2, .autoscale = {.is_on = false}};
  const auto main = [&] {
    weft::execution_context& first = *weft::execution_context::current();
    std::printf("      in the same context          %8.0f us\n", measure(first, first));
    weft::concurrent_context answers("answers");
    std::printf("      in a context of its own      %8.0f us\n", measure(first, answers));
  };
  weft::run(main, as_they_are);
  return true;
}

bool show_replacement() {
  constexpr int blocked = 8;
  std::atomic<int> still_blocked{blocked};
  int while_blocked = 0;
  std::uint64_t added = 0;
  const auto main = [&] {
    std::vector<weft::handle<void>> sleepers;
    for (int i = 0; i < blocked; ++i)
      sleepers.push_back(weft::spawn([&still_blocked] {
        std::this_thread::sleep_for(
            milliseconds(100));  // as a system call that takes long: the thread itself sleeps
        --still_blocked;
      }));
    // Others, which come after all of those.
    for (int i = 0; i < 1000; ++i) weft::spawn([] {}).join();
    while_blocked = still_blocked.load();
    for (auto& each : sleepers) each.join();
    added = weft::execution_context::current()->statistics().added_for_blocked;
  };
  const double taken = seconds([&] { weft::run(main, {.workers = 2}); });
  std::printf(
      "   Eight tasks block their threads for 100 ms, on two workers: 1,000 others ran while %d of them "
      "still did;\n"
      "      %llu workers were added for those that were blocked, and all of it took %.0f ms\n",
      while_blocked, static_cast<unsigned long long>(added), taken * 1e3);
  return while_blocked > 0 && added > 0;
}

std::mutex heard_lock;
std::string heard;
void listen(std::string_view line) noexcept {
  const std::lock_guard hold(heard_lock);
  heard += line;
}

bool show_hog() {
  weft::impl::set_report_sink(&listen);
  const auto main = [] { weft::spawn({.name = "crunch"}, [] { count_for(milliseconds(200)); }).join(); };
  weft::run(main, {.workers = 2, .name_hogs_after = milliseconds(50)});
  weft::impl::set_report_sink(nullptr);
  const std::lock_guard hold(heard_lock);
  const std::size_t frame = heard.find("count_for");
  const std::string first = heard.substr(0, heard.find('\n'));
  std::printf("   A task computes for 200 ms without giving way, and is named, with a backtrace:\n      %s\n",
              first.c_str());
  if (frame == std::string::npos) return false;
  const std::size_t begin = heard.rfind('\n', frame) + 1;
  std::printf("      %s\n", heard.substr(begin, heard.find('\n', begin) - begin).c_str());
  return heard.find("'crunch'") != std::string::npos;
}

}  // namespace

bool show_contexts(const options& how) {
  heading(
      "8. Execution contexts: what computes does not keep waiting what answers; who is stuck is replaced, or "
      "named");
  bool good = show_side_by_side(how);
  good = show_replacement() && good;
  return show_hog() && good;
}

}  // namespace tour
