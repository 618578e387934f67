// SPDX-License-Identifier: Apache-2.0
//
// supervised — a context around another: it sees all tasks that are spawned in it, and those that they spawn, and ends with the last.
//
// A plugin is given such a context. Whatever it spawns, on the workers that all share, is counted; it can be held back; and when it is
// unloaded nothing of it is left running.
#include <weft/custom_context.hpp>
#include <weft/weft.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string_view>
#include <utility>

namespace {

class supervised_context final : public weft::wrapping_context {
 public:
  supervised_context(std::string_view name, weft::execution_context& inner) : wrapping_context(name, inner) {}
  supervised_context(const supervised_context&) = delete;
  supervised_context& operator=(const supervised_context&) = delete;
  ~supervised_context() override {
    resume();  // or those that are held back would never end
    end();
  }

  [[nodiscard]] int begun() const { return begun_.load(); }
  [[nodiscard]] int ended() const { return ended_.load(); }
  /// Those that have ended first: so it is 0 only when none lives.
  [[nodiscard]] int alive() const {
    const int gone = ended();
    return begun() - gone;
  }

  /// Nothing of it runs, until resume().
  void pause() {
    const std::lock_guard hold(lock_);
    is_paused_ = true;
  }
  void resume() {
    std::deque<weft::ready_task> held;
    {
      const std::lock_guard hold(lock_);
      is_paused_ = false;
      held.swap(held_);
    }
    for (weft::ready_task& each : held) pass_on(std::move(each));
  }

 private:
  // [watched]
  void enqueue(weft::ready_task ready) noexcept override {
    if (ready.is_fresh()) begun_.fetch_add(1);
    {
      const std::lock_guard hold(lock_);
      if (is_paused_) return held_.push_back(std::move(ready));
    }
    pass_on(std::move(ready));
  }
  void on_leave(const weft::left_task& /*gone*/) noexcept override { ended_.fetch_add(1); }
  // [watched]

  std::atomic<int> begun_{0};
  std::atomic<int> ended_{0};
  std::mutex lock_;
  bool is_paused_ = false;
  std::deque<weft::ready_task> held_;
};

// Somebody else's code: it spawns, and its tasks spawn, and it does not tell how many.
int run_plugin(std::atomic<int>& work) {
  for (int i = 0; i < 10; ++i)
    weft::spawn([&work] {
      for (int j = 0; j < 10; ++j)
        weft::spawn([&work] {
          weft::this_fiber::sleep_for(std::chrono::milliseconds(1));
          work.fetch_add(1);
        }).detach();
    }).detach();
  return 111;  // tasks, itself included
}

}  // namespace

int main() {
  return weft::run([] {
    std::atomic<int> work{0};
    int expected = 0;
    bool held_back = false;
    int begun = 0;
    int ended = 0;
    {
      supervised_context plugin("plugin", *weft::execution_context::current());
      expected = plugin.spawn([&work] { return run_plugin(work); }).join();
      while (plugin.alive() != 0) weft::this_fiber::sleep_for(std::chrono::milliseconds(1));
      begun = plugin.begun();
      ended = plugin.ended();

      plugin.pause();
      auto late = plugin.spawn([] {});
      weft::this_fiber::sleep_for(std::chrono::milliseconds(5));
      held_back = !late.is_done();
      plugin.resume();
      late.join();
    }  // and now nothing of it is left
    std::printf(
        "the plugin has begun %d tasks, and all %d have ended; it did %d things; paused, it waited: %s\n",
        begun, ended, work.load(), held_back ? "yes" : "NO");
    return begun == expected && ended == expected && work.load() == 100 && held_back ? 0 : 1;
  });
}
