// SPDX-License-Identifier: Apache-2.0
//
// Whoever unwinds a fiber's stack must find its end: exceptions, backtrace(), forced unwinding.

#include "arch/parked_calls.hpp"
#include "support/two_contexts.hpp"

#include <algorithm>
#include <array>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <span>
#include <stdexcept>
#include <thread>
#include <unwind.h>

namespace weft::impl {
namespace {

using testing::two_contexts;

// Counts frames, and notes what the unwinder said at the end.
struct walk {
  int frames = 0;
  std::uintptr_t last = 0;
  _Unwind_Reason_Code end = _URC_NO_REASON;
};

_Unwind_Reason_Code step(_Unwind_Context* at, void* raw) {
  auto& w = *static_cast<walk*>(raw);
  ++w.frames;
  w.last = _Unwind_GetIP(at);
  return w.frames > 200 ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

__attribute__((noinline)) walk walk_up() {
  walk w;
  w.end = _Unwind_Backtrace(&step, &w);
  return w;
}

TEST(Unwind, EndsAtTheBaseOfAContext) {
  static walk seen;
  two_contexts pair([](two_contexts&) { seen = walk_up(); });
  pair.over();
  EXPECT_EQ(seen.end, _URC_END_OF_STACK);
  EXPECT_GE(seen.frames, 3);  // walk_up, the lambda, entry, and the base
  EXPECT_LE(seen.frames, 8);
}

TEST(Unwind, BacktraceEndsAtTheBaseOfAContext) {
  static int count;
  static void* frames[100];
  two_contexts pair([](two_contexts&) { count = ::backtrace(frames, 100); });
  pair.over();
  EXPECT_GE(count, 2);
  EXPECT_LE(count, 8);
}

#if !defined(WEFT_SWITCH_BOOST)

void* expected[2];

[[gnu::noinline]] void park_inside(two_contexts& p) {
  expected[0] = __builtin_return_address(0);
  p.back();
  asm volatile("");
}
[[gnu::noinline]] void park_further_out(two_contexts& p) {
  expected[1] = __builtin_return_address(0);
  park_inside(p);
  asm volatile("");
}

TEST(Unwind, TheCallsOfAParkedContextAreFound) {
  two_contexts pair([](two_contexts& p) {
    park_further_out(p);
    asm volatile("");
  });
  pair.over();
  std::array<void*, 32> calls{};
  const std::size_t count = find_parked_calls(pair.there, calls);
  ASSERT_GE(count, 4U);
  EXPECT_EQ(calls[0], pair.there.machine.go_on_at);
  const auto end = calls.begin() + static_cast<std::ptrdiff_t>(count);
  const auto inside = std::find(calls.begin(), end, expected[0]);
  ASSERT_NE(inside, end);
  ASSERT_NE(inside + 1, end);
  EXPECT_EQ(inside[1], expected[1]);
  EXPECT_LE(count, 8U);  // and it ends at the base
  EXPECT_EQ(find_parked_calls(pair.there, std::span(calls).first(2)), 2U);
  pair.over();
}

TEST(Unwind, AContextThatHasNotBegunHasItsBaseAlone) {
  two_contexts pair([](two_contexts&) {});
  std::array<void*, 32> calls{};
  EXPECT_EQ(find_parked_calls(pair.there, calls), 1U);
  pair.over();
}

#endif

TEST(Unwind, ExceptionsAreCaughtWithinTheContext) {
  two_contexts pair([](two_contexts& p) {
    for (int depth = 0; depth < 3; ++depth) {
      try {
        throw std::runtime_error("inside");
      } catch (const std::runtime_error&) {
        ++p.seen;
      }
      p.back();
    }
  });
  for (int i = 0; i < 3; ++i) pair.over();
  EXPECT_EQ(pair.seen, 3);
}

TEST(UnwindDeathTest, AnUncaughtExceptionTerminatesWithItsName) {
  EXPECT_DEATH(
      {
        two_contexts pair([](two_contexts&) { throw std::runtime_error("nobody catches this"); });
        pair.over();
      },
      "terminate called after throwing an instance of 'std::runtime_error'(.|\n)*nobody catches this");
}

// Forced unwinding (pthread_exit, thread cancellation) runs the destructors on the context's stack and ends the
// thread when it finds the end of it.
struct notes_destruction {
  explicit notes_destruction(bool& noted) : destroyed(noted) {}
  notes_destruction(const notes_destruction&) = delete;
  notes_destruction& operator=(const notes_destruction&) = delete;
  ~notes_destruction() { destroyed = true; }

  bool& destroyed;
};

// Unwinds by force as thread cancellation does, and goes back to the thread where the stack ends.
TEST(Unwind, ForcedUnwindingRunsDestructorsAndFindsTheEnd) {
  static bool destroyed;
  static bool passed_handler;
  static int frames;
  destroyed = passed_handler = false;
  frames = 0;
  two_contexts pair([](two_contexts& p) {
    static _Unwind_Exception force{};
    const auto stop = [](int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception*,
                         _Unwind_Context*, void* raw) -> _Unwind_Reason_Code {
      ++frames;
      if ((actions & _UA_END_OF_STACK) != 0) static_cast<two_contexts*>(raw)->back();
      return _URC_NO_REASON;
    };
    notes_destruction guard{destroyed};
    try {
      _Unwind_ForcedUnwind(&force, stop, &p);
    } catch (...) {
      passed_handler = true;
      throw;  // a handler that eats forced unwinding is ended by the C++ runtime
    }
  });
  pair.over();
  EXPECT_TRUE(destroyed);
  EXPECT_TRUE(passed_handler);
  EXPECT_LE(frames, 10);
}

// The sanitizers take a thread's end on another stack for their own (ThreadSanitizer checks that pthread_exit is
// not called on a fiber; AddressSanitizer trips over its own frames), so this is for the other builds.
#if !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER
TEST(Unwind, PthreadExitOnAFiberEndsTheThread) {
  struct shared {
    bool destroyed = false;
    bool returned = false;
    bool cleaned_up = false;
  };
  static shared s;
  s = {};
  pthread_t thread{};
  ASSERT_EQ(0, ::pthread_create(
                   &thread, nullptr,
                   [](void*) -> void* {
                     // Kept for good: the thread ends on the other stack and never comes back to take it down.
                     static two_contexts* pair;
                     pair = new two_contexts([](two_contexts&) {
                       notes_destruction guard{s.destroyed};
                       try {
                         ::pthread_exit(&s);
                       } catch (...) {
                         s.cleaned_up = true;
                         throw;  // a handler that eats forced unwinding is ended by the C++ runtime
                       }
                     });
                     pair->over();
                     s.returned = true;
                     return nullptr;
                   },
                   nullptr));
  void* value = nullptr;
  ASSERT_EQ(0, ::pthread_join(thread, &value));
  EXPECT_EQ(value, &s);
  EXPECT_TRUE(s.destroyed);
  EXPECT_TRUE(s.cleaned_up);
  EXPECT_FALSE(s.returned);
}
#endif

}  // namespace
}  // namespace weft::impl
