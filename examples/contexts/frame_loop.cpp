// SPDX-License-Identifier: Apache-2.0
//
// frame_loop — a context of one's own: tasks that run on the thread that draws, between two pictures, and no longer than that.
//
// So do games and user interfaces: what touches a widget runs on its thread, a step at a time, while the rest of the program computes
// elsewhere. Here a hundred sprites are tasks that move once a frame; each asks the workers for its way, and waits for the answer as
// if it were a call.
#include <weft/custom_context.hpp>
#include <weft/weft.hpp>

#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

class frame_context final : public weft::custom_context {
 public:
  explicit frame_context(weft::runtime& in) : custom_context(in, "frames") {}
  frame_context(const frame_context&) = delete;
  frame_context& operator=(const frame_context&) = delete;
  // [runner]
  ~frame_context() override {
    for (close(); !is_over();) (void)run_until(clock_type::time_point::max());
  }

  /// Runs what is ready, but nothing more after that time. By the thread that has made the context. Returns how many ran.
  int run_until(clock_type::time_point end) {
    int count = 0;
    for (; clock_type::now() < end; ++count) {
      weft::ready_task next = take();
      if (!next) break;
      here_.run(std::move(next));
    }
    return count;
  }
  // [runner]

 private:
  // [queue]
  void enqueue(weft::ready_task ready) noexcept override {
    const std::lock_guard hold(lock_);
    queue_.push_back(std::move(ready));
  }

  weft::ready_task take() {
    const std::lock_guard hold(lock_);
    if (queue_.empty()) return {};
    weft::ready_task first = std::move(queue_.front());
    queue_.pop_front();
    return first;
  }

  std::mutex lock_;
  std::deque<weft::ready_task> queue_;
  runner here_{*this};
  // [queue]
};

struct sprite {
  double x = 0;
  int frames = 0;
  bool left_its_thread = false;
};

// What takes long, and so belongs to the workers.
double find_way(double from) {
  double x = from;
  for (int i = 0; i < 1000; ++i) x = x * 0.999 + 0.001;
  return x + 1;
}

}  // namespace

int main() {
  constexpr int sprites = 100;
  constexpr int frames = 30;
  constexpr auto frame_time = std::chrono::milliseconds(4);
  weft::runtime rt({.workers = 2});
  frame_context screen(rt);
  const std::thread::id mine = std::this_thread::get_id();

  std::vector<sprite> all(sprites);
  std::vector<weft::handle<void>> tasks;
  tasks.reserve(sprites);
  for (sprite& each : all)
    tasks.push_back(screen.spawn([&each, &rt, mine] {
      while (each.frames < frames) {
        auto way = rt.spawn([from = each.x] { return find_way(from); });
        each.x = way.join();  // waits; the thread draws on meanwhile
        if (std::this_thread::get_id() != mine) each.left_its_thread = true;
        ++each.frames;
        weft::this_fiber::yield();  // the next step comes in its turn
      }
    }));

  int pictures = 0;
  int steps = 0;
  const auto all_done = [&] {
    for (const auto& each : tasks) {
      if (!each.is_done()) return false;
    }
    return true;
  };
  for (clock_type::time_point next = clock_type::now(); !all_done(); ++pictures) {
    next += frame_time;
    steps += screen.run_until(next);
    std::this_thread::sleep_until(next);  // and here a picture would be drawn
  }

  bool is_right = true;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].join();
    is_right = is_right && all[i].frames == frames && !all[i].left_its_thread;
  }
  std::printf(
      "%d sprites took %d steps each, in %d pictures; %d times a task ran, all on the thread that draws: "
      "%s\n",
      sprites, frames, pictures, steps, is_right ? "yes" : "NO");
  return is_right ? 0 : 1;
}
