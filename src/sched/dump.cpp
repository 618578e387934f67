// SPDX-License-Identifier: Apache-2.0

#include "arch/parked_calls.hpp"
#include "sched/loop.hpp"
#include "sched/pool.hpp"
#include "sched/registry.hpp"
#include "sched/running_task.hpp"
#include "sys/backtrace.hpp"
#include "sys/thread_calls.hpp"

#include <weft/dump.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::impl {
namespace {

constexpr std::size_t most_shown = 48;
constexpr std::size_t most_named = 8;  // of those that are shown together

using call_list = std::vector<void*>;

// Parentheses: between braces two pointers would be a list of two pointers.
call_list list_of(std::span<void* const> calls) { return call_list(calls.begin(), calls.end()); }

/// A task that a worker runs, as the worker has said itself.
struct found_running {
  std::uint64_t id = 0;
  call_list calls;
};

/// What tasks have in common that are shown together.
struct likeness {
  std::string context;
  task_state state = task_state::ready;
  std::string waits_for;
  std::string file;
  std::uint32_t line = 0;
  call_list calls;

  // NOLINTNEXTLINE(modernize-use-nullptr): in what the compiler makes of it
  auto operator<=>(const likeness&) const = default;
};
struct alike {
  std::uint64_t count = 0;
  std::vector<std::string> some;  // of them, by number and name
};

// -- What runs ------------------------------------------------------------------------------------------------------------------

void look_at_workers(const pool& of, std::vector<found_running>& running) {
  for (const worker& each : of.workers()) {
    const pid_t thread = each.thread_number();
    if (thread == 0 || of.beds().is_asleep_approx(each.index())) continue;
    std::array<void*, most_shown> calls{};
    running_task said;
    const std::size_t count = find_thread_calls(thread, calls, said.question());
    if (count == 0 || !said.is_known) continue;
    running.push_back({said.id, list_of({calls.data(), count})});
  }
}

// -- What waits -----------------------------------------------------------------------------------------------------------------

// All stacks that a task stands on, from the newest: it may have gone on upon another one.
std::size_t find_calls_of(const fiber& newest, std::span<void*> found) noexcept {
  std::size_t count = 0;
  for (const fiber* each = &newest; each != nullptr; each = each->depth == 0 ? nullptr : each->below)
    count += find_parked_calls(*each, found.subspan(count));
  return count;
}

call_list look_at_parked(task& waiting) {
  std::array<void*, most_shown> calls{};
  const wait_word seen = waiting.claim.word();
  if (!waiting.claim.try_hold(seen)) return {};
  const std::size_t count = find_calls_of(*waiting.on, calls);
  if (waiting.claim.complete_hold_as(seen) == park_outcome::must_requeue) pool::make_runnable(waiting, false);
  return list_of({calls.data(), count});
}

// -- All of it, in words --------------------------------------------------------------------------------------------------------

std::string name_of(const task_info& one) {
  std::string text = std::to_string(one.id);
  if (!one.name.empty()) text += " '" + one.name + "'";
  return text;
}

void append_context(std::string& text, const pool& one) {
  const std::uint32_t there = one.options().runs_on_caller ? 0 : one.workers().there();
  text += "context '" + one.options().name + "': " + std::to_string(one.limit()) + " workers, " +
          std::to_string(there) + " threads\n";
}

void append_alike(std::string& text, const likeness& what, const alike& who) {
  text += who.count == 1 ? "task " : std::to_string(who.count) + " tasks: ";
  for (std::size_t i = 0; i < who.some.size(); ++i) text += (i == 0 ? "" : ", ") + who.some[i];
  if (who.count > who.some.size()) text += ", ...";
  text += " in '" + what.context + "', " + to_string(what.state);
  if (!what.waits_for.empty()) text += " on " + what.waits_for;
  if (!what.file.empty()) text += ", spawned at " + what.file + ":" + std::to_string(what.line);
  text += "\n";
  int number = 0;
  for (const void* const each : what.calls) text += describe_call(number++, each) + "\n";
}

class runtime_dump {
 public:
  explicit runtime_dump(commons& of) : of_(of) {}

  void append_to(std::string& text) {
    of_.for_each_context([&](const pool& each) {
      append_context(text, each);
      contexts_.emplace_back(each.id(), each.options().name);
      look_at_workers(each, running_);
    });
    of_.for_each_task([&](task& each, const task_info& info) { add(each, info); });
    if (groups_.empty()) text += "no tasks\n";
    for (const auto& [what, who] : groups_) append_alike(text, what, who);
  }

 private:
  void add(task& one, const task_info& info) {
    likeness what{.context = context_of(one),
                  .state = info.state,
                  .waits_for = info.waits_for,
                  .file = info.file,
                  .line = info.line,
                  .calls = {}};
    const auto runs =
        std::find_if(running_.begin(), running_.end(), [&](const auto& r) { return r.id == info.id; });
    if (runs != running_.end()) {
      what.state = task_state::running;
      what.waits_for.clear();
      what.calls = runs->calls;
    } else if (info.state == task_state::blocked) {
      what.calls = look_at_parked(one);
    }
    alike& who = groups_[std::move(what)];
    ++who.count;
    if (who.some.size() < most_named) who.some.push_back(name_of(info));
  }

  [[nodiscard]] std::string context_of(const task& one) const {
    const context_id home = one.goes().home();
    const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                    [home](const auto& each) { return each.first == home; });
    return found == contexts_.end() ? "?" : found->second;
  }

  commons& of_;
  std::vector<std::pair<context_id, std::string>> contexts_;
  std::vector<found_running> running_;
  std::map<likeness, alike> groups_;
};

}  // namespace
}  // namespace weft::impl

namespace weft {

std::string dump() {
  impl::prepare_backtrace();
  std::string text;
  const auto add = [](impl::commons& each, void* with) {
    auto& all = *static_cast<std::string*>(with);
    all += "weft runtime\n";
    impl::runtime_dump(each).append_to(all);
  };
  impl::for_each_runtime(add, &text);
  return text.empty() ? "no weft runtime\n" : text;
}

}  // namespace weft
