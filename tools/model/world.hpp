// SPDX-License-Identifier: Apache-2.0
//
// world — what a model says about itself: its objects, its threads, and what must hold in the end.
//
//     MODEL(Flag, CarriesWhatWasWrittenBefore) {
//       struct state {
//         platform::plain<int> data{0};
//         platform::atomic<bool> ready{false};
//       };
//       auto& s = world.make<state>();
//       world.thread("writer", [&s] {
//         s.data.write(42);
//         s.ready.store(true, std::memory_order_release);
//       });
//       world.thread("reader", [&s] {
//         if (s.ready.load(std::memory_order_acquire)) require(s.data.read() == 42, "the data came with the flag");
//       });
//     }
//
// The function runs once per schedule, so it is cheap and has no memory of its own: state lives in make().
#pragma once

#include "model/execution.hpp"

#include <functional>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::model {

class world {
 public:
  explicit world(execution& in) : execution_(in) {}
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// After an execution that failed, nothing is destroyed: its threads stopped in the middle of something.
  ~world() {
    for (const object& o : objects_) ::operator delete (o.at, std::align_val_t{o.alignment});
  }

  /// An object that lives until everything has ended.
  template <class T, class... Arguments>
  T& make(Arguments&&... arguments) {
    void* const at = ::operator new (sizeof(T), std::align_val_t{alignof(T)});
    objects_.push_back({at, alignof(T), [](void* gone) { static_cast<T*>(gone)->~T(); }});
    return *::new (at) T(std::forward<Arguments>(arguments)...);
  }

  /// A thread of the model.
  void thread(const char* called, std::function<void()> does) {
    execution_.add_thread(called, std::move(does));
  }

  /// What is to be checked when all threads have ended.
  void finally(std::function<void()> check) { finals_.push_back(std::move(check)); }

  /// For a model too large to try everything: the exhaustive search then leaves promises to the random ones, and lets at
  /// most so many of an execution's loads, stores and exchanges do anything but the newest.
  void is_large(unsigned odd_values) { execution_.search_less(odd_values); }

  /// For execution: the checks, then the end of all objects.
  void finish() {
    for (const auto& check : finals_) check();
    for (std::size_t i = objects_.size(); i-- > 0;) objects_[i].destroy(objects_[i].at);
  }

 private:
  struct object {
    void* at;
    std::size_t alignment;
    void (*destroy)(void*);
  };

  execution& execution_;
  std::vector<object> objects_;
  std::vector<std::function<void()>> finals_;
};

/// Ends the execution as a failure unless the condition holds.
inline void require(bool holds, const char* what) {
  if (!holds) execution::now().fail("%s", what);
}

}  // namespace weft::model
