// SPDX-License-Identifier: Apache-2.0
//
// The exceptions a fiber is handling belong to the fiber: `throw;`, std::current_exception() and
// std::uncaught_exceptions() answer for it alone, wherever and whenever it goes on.
//
// The C++ runtime keeps them per thread. A library that does not move them lets one fiber's `throw;` rethrow
// another's exception, frees exceptions in use, and makes scope guards believe in unwinding that is not theirs.

#include "cures/check.hpp"
#include "support/child.hpp"
#include "support/fibers.hpp"

#include <exception>
#include <string>
#include <thread>

namespace weft::impl {
namespace {

using weft::testing::owner;

std::string caught_again() {
  try {
    throw;
  } catch (const std::string& what) {
    return what;
  } catch (...) {
    return "something else";
  }
}

// Throws, waits inside the handler, and says what `throw;` then rethrows.
std::string wait_in_handler(manual_fiber& self, const std::string& mine) {
  try {
    throw std::string(mine);
  } catch (const std::string&) {
    self.pause();
    return std::current_exception() ? caught_again() : "nothing";
  }
}

void two_fibers_wait_in_handlers() {
  stack_pool pool;
  std::string a;
  std::string b;
  weft::testing::fiber_thread here;
  manual_fiber first(pool, stack_class(), owner("first"),
                     [&](manual_fiber& self) { a = wait_in_handler(self, "A"); });
  manual_fiber second(pool, stack_class(), owner("second"),
                      [&](manual_fiber& self) { b = wait_in_handler(self, "B"); });
  first.resume();
  WEFT_CURE_EXPECT(std::current_exception() == nullptr);  // the thread itself handles nothing
  second.resume();
  first.resume();
  second.resume();
  WEFT_CURE_EXPECT(a == "A");
  WEFT_CURE_EXPECT(b == "B");
}

void a_handler_moves_to_another_thread() {
  stack_pool pool;
  std::string a;
  manual_fiber fiber(pool, stack_class(), owner("mover"),
                     [&](manual_fiber& self) { a = wait_in_handler(self, "A"); });
  weft::testing::on_fiber_thread([&] { fiber.resume(); });
  weft::testing::on_fiber_thread([&] {
    try {
      throw std::string("the other thread's own");
    } catch (const std::string&) {
      fiber.resume();
      WEFT_CURE_EXPECT(caught_again() == "the other thread's own");
    }
  });
  WEFT_CURE_EXPECT(a == "A");
}

// Waits in a destructor that runs because of an exception.
struct waits_while_unwinding {
  waits_while_unwinding(manual_fiber& fiber, int& before, int& after)
      : self(fiber), uncaught_before(before), uncaught_after(after) {}
  waits_while_unwinding(const waits_while_unwinding&) = delete;
  waits_while_unwinding& operator=(const waits_while_unwinding&) = delete;
  ~waits_while_unwinding() {
    uncaught_before = std::uncaught_exceptions();
    self.pause();
    uncaught_after = std::uncaught_exceptions();
  }

  manual_fiber& self;
  int& uncaught_before;
  int& uncaught_after;
};

void a_destructor_waits_during_unwinding() {
  stack_pool pool;
  int before = -1;
  int after = -1;
  std::string caught;
  manual_fiber fiber(pool, stack_class(), owner("unwinder"), [&](manual_fiber& self) {
    try {
      const waits_while_unwinding guard(self, before, after);
      throw std::string("thrown past the guard");
    } catch (const std::string& what) {
      caught = what;
    }
  });
  weft::testing::on_fiber_thread([&] {
    fiber.resume();
    WEFT_CURE_EXPECT(std::uncaught_exceptions() == 0);  // the unwinding is the fiber's, not the thread's
  });
  weft::testing::on_fiber_thread([&] { fiber.resume(); });
  WEFT_CURE_EXPECT(before == 1);
  WEFT_CURE_EXPECT(after == 1);
  WEFT_CURE_EXPECT(caught == "thrown past the guard");
}

// Three exceptions alive at once, handlers nested, a wait at every depth.
void several_exceptions_are_alive() {
  stack_pool pool;
  std::string trail;
  manual_fiber fiber(pool, stack_class(), owner("nested"), [&](manual_fiber& self) {
    try {
      throw std::string("1");
    } catch (const std::string&) {
      self.pause();
      try {
        throw std::string("2");
      } catch (const std::string&) {
        self.pause();
        try {
          throw std::string("3");
        } catch (const std::string&) {
          self.pause();
          trail += caught_again();
        }
        trail += caught_again();
      }
      trail += caught_again();
    }
  });
  manual_fiber noise(pool, stack_class(), owner("noise"), [&](manual_fiber& self) {
    for (int i = 0; i < 3; ++i) {
      try {
        throw int{i};
      } catch (int) {
        self.pause();
      }
    }
  });
  for (int i = 0; i < 4; ++i) {
    weft::testing::on_fiber_thread([&] {
      fiber.resume();
      noise.resume();
    });
  }
  WEFT_CURE_EXPECT(trail == "321");
}

void an_exception_pointer_travels() {
  stack_pool pool;
  std::exception_ptr kept;
  std::string seen;
  manual_fiber fiber(pool, stack_class(), owner("keeper"), [&](manual_fiber& self) {
    try {
      throw std::string("kept");
    } catch (...) {
      kept = std::current_exception();
      self.pause();
    }
    try {
      std::rethrow_exception(kept);
    } catch (const std::string& what) {
      seen = what;
    }
  });
  weft::testing::on_fiber_thread([&] { fiber.resume(); });
  weft::testing::on_fiber_thread([&] { fiber.resume(); });
  WEFT_CURE_EXPECT(seen == "kept");
}

// Each in a process of its own: with the cure taken out, some end in the C++ runtime's own abort.
int run_all() {
  const auto in_child = [](const char* name, void (*scenario)()) {
    const testing::child_outcome outcome = testing::run_in_child([&] {
      scenario();
      std::_Exit(cures::verdict());
    });
    if (!outcome.exited_with(0)) std::fprintf(stderr, "%s:\n%s", name, outcome.said.c_str());
    cures::expect(outcome.exited_with(0), name, __FILE__, __LINE__);
  };
  in_child("two fibers wait in handlers", &two_fibers_wait_in_handlers);
  in_child("a handler moves to another thread", &a_handler_moves_to_another_thread);
  in_child("a destructor waits during unwinding", &a_destructor_waits_during_unwinding);
  in_child("several exceptions are alive", &several_exceptions_are_alive);
  in_child("an exception pointer travels", &an_exception_pointer_travels);
  return cures::verdict();
}

}  // namespace
}  // namespace weft::impl

int weft_run_cure() { return weft::impl::run_all(); }
