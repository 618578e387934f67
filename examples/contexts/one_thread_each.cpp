// SPDX-License-Identifier: Apache-2.0
//
// one_thread_each — groups of tasks that never run at the same time, beside each other on as many threads.
//
// A chat server keeps its rooms so: whatever happens in one room happens in its context, one thing at a time. So a room needs no lock, and
// a busy one does not keep the others waiting.
#include <weft/weft.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

class room {
 public:
  explicit room(const std::string& name) : context_(name) {}

  /// From any task. Whoever speaks waits until all have heard it.
  void say(int who) {
    context_
        .spawn([this, who] {
          weft::this_fiber::yield();  // others may speak meanwhile; but never at the same time
          if (std::exchange(is_speaking_, true)) was_torn_ = true;
          heard_.push_back(who);
          is_speaking_ = false;
        })
        .join();
  }

  [[nodiscard]] std::size_t heard() const { return heard_.size(); }
  [[nodiscard]] bool was_torn() const { return was_torn_; }
  [[nodiscard]] std::string name() const { return std::string(context_.name()); }

 private:
  // What its tasks use, without a lock; so it goes after the context that they run in.
  std::vector<int> heard_;
  bool is_speaking_ = false;
  bool was_torn_ = false;
  weft::concurrent_context context_;
};

}  // namespace

int main() {
  constexpr int rooms = 4;
  constexpr int people = 100;
  constexpr int words = 50;
  return weft::run([] {
    std::vector<std::unique_ptr<room>> all;
    for (int i = 0; i < rooms; ++i) all.push_back(std::make_unique<room>("room " + std::to_string(i)));

    weft::nursery([&](weft::nursery& crowd) {
      for (int who = 0; who < people; ++who)
        crowd.spawn([&all, who] {
          for (int i = 0; i < words; ++i) all[static_cast<std::size_t>(who + i) % rooms]->say(who);
        });
    });

    bool is_right = true;
    for (const auto& each : all) {
      std::printf("%s has heard %zu sentences\n", each->name().c_str(), each->heard());
      is_right = is_right && each->heard() == std::size_t{people} * words / rooms && !each->was_torn();
    }
    return is_right ? 0 : 1;
  });
}
