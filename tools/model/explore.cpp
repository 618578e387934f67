// SPDX-License-Identifier: Apache-2.0

#include "model/explore.hpp"

#include <weft/detail/sanitizers.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace weft::model {
namespace {

/// While one lives, standard error goes nowhere: impossible executions fail checks too, and whoever reads thousands of
/// their messages learns nothing. A replay is heard. Sanitizers speak there, and are never silenced.
class quiet_errors {
 public:
  quiet_errors() noexcept {
#if !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER
    saved = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (saved >= 0 && nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) ::close(nowhere);
#endif
  }
  quiet_errors(const quiet_errors&) = delete;
  quiet_errors& operator=(const quiet_errors&) = delete;
  ~quiet_errors() { speak(); }

  /// Ends the silence early. Async-signal-safe.
  static void speak() noexcept {
    if (saved < 0) return;
    ::dup2(saved, STDERR_FILENO);
    ::close(saved);
    saved = -1;
  }

 private:
  static inline int saved = -1;
};

#if WEFT_ADDRESS_SANITIZER || WEFT_THREAD_SANITIZER
/// Sanitizers want to see crashes themselves.
struct crash_catcher {};
#else
/// While one lives, a failed check or a wild pointer in the code under test is a failure of the execution and not the
/// end of the process.
class crash_catcher {
 public:
  crash_catcher() {
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      if (!execution::now().runs_threads()) {  // the checker itself, or a model that is being set up
        quiet_errors::speak();
        constexpr std::string_view hint =
            "this happened outside of the model's threads; WEFT_MODEL_SCHEDULE='' says more\n";
        (void)!::write(STDERR_FILENO, hint.data(), hint.size());
        ::signal(signal, SIG_DFL);
        ::raise(signal);
      }
      execution::now().fail(
          "%s", signal == SIGABRT ? "a check in the code under test failed" : "a wild pointer was followed");
    };
    action.sa_flags = SA_NODEFER;  // the handler leaves by a switch
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &before_[i]);
  }
  crash_catcher(const crash_catcher&) = delete;
  crash_catcher& operator=(const crash_catcher&) = delete;
  ~crash_catcher() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 3> signals{SIGABRT, SIGSEGV, SIGBUS};
  std::array<struct sigaction, signals.size()> before_{};
};
#endif

class search {
 public:
  search(execution& on, const execution::body& model, const effort& how)
      : on_(on), model_(model), effort_(how) {}

  verdict run() {
    exhaustive();
    verdict_.odd_values = on_.odd_values();
    if (!verdict_.found) randomised(oracle::strategy::priorities, effort_.pct, "PCT");
    if (!verdict_.found) randomised(oracle::strategy::random, effort_.random, "random walk");
    return verdict_;
  }

 private:
  struct branch {
    std::vector<promise> promises;  // that could be read here instead
    std::size_t tried = 0;
  };

  void exhaustive() {
    run_settings how;
    how.exhaustive = true;
    how.promises = effort_.promises;
    how.preemptions = effort_.preemptions;
    trail plan;
    std::vector<branch> branches;
    for (std::uint64_t n = 0; n < effort_.exhaustive_limit; ++n) {
      const std::size_t planned = plan.size();
      if (fails(std::move(plan), oracle::strategy::dull, 0, how, "exhaustive")) return;
      trail taken = on_.choices().taken();
      branches.resize(std::min(planned, taken.size()));  // what lies beyond the plan is new
      branches.resize(taken.size());
      add_promises(branches);
      if (!advance(taken, branches)) {
        verdict_.exhausted = true;
        return;
      }
      plan = std::move(taken);
    }
  }

  void add_promises(std::vector<branch>& branches) {
    for (const promise_candidate& c : on_.shared().candidates()) {
      std::vector<promise>& known = branches[c.position].promises;
      if (std::find(known.begin(), known.end(), c.what) == known.end()) known.push_back(c.what);
    }
  }

  // The next plan in depth-first order; false when there is none.
  static bool advance(trail& taken, std::vector<branch>& branches) {
    while (!taken.empty()) {
      choice& last = taken.back();
      branch& at = branches[taken.size() - 1];
      if (!last.promised && last.taken + 1 < last.of) {
        ++last.taken;
        return true;
      }
      if (at.tried < at.promises.size()) {
        last.promised = true;
        last.taken = 0;
        last.made = at.promises[at.tried++];
        return true;
      }
      taken.pop_back();
      branches.pop_back();
    }
    return false;
  }

  void randomised(oracle::strategy strategy, std::uint64_t count, const char* called) {
    run_settings how;
    how.depth = effort_.depth;
    how.promises = effort_.promises;
    impl::xoshiro256ss seeds(effort_.seed);
    for (std::uint64_t n = 0; n < count; ++n) {
      how.expected_steps = std::max<std::size_t>(verdict_.longest, 8);
      if (fails({}, strategy, seeds(), how, called)) return;
      const std::vector<promise_candidate>& candidates = on_.shared().candidates();
      if (candidates.empty() || seeds.below(4) != 0) continue;
      const promise_candidate c = candidates[seeds.below(static_cast<std::uint32_t>(candidates.size()))];
      trail plan(on_.choices().taken().begin(),
                 on_.choices().taken().begin() + static_cast<std::ptrdiff_t>(c.position));
      plan.push_back({0, 1, true, c.what});
      if (fails(std::move(plan), strategy, seeds(), how, called)) return;
    }
  }

  bool fails(trail plan, oracle::strategy strategy, std::uint64_t seed, const run_settings& how,
             const char* called) {
    const outcome ended = on_.run(model_, std::move(plan), strategy, seed, how);
    ++verdict_.executions;
    verdict_.longest = std::max(verdict_.longest, on_.steps());
    if (ended == outcome::infeasible) ++verdict_.infeasible;
    if (ended != outcome::failed) return false;
    finding f;
    f.why = on_.failure();
    f.found_by = called;
    f.after = verdict_.executions;
    f.schedule = on_.choices().taken();
    verdict_.found = std::move(f);
    return true;
  }

  execution& on_;
  const execution::body& model_;
  const effort& effort_;
  verdict verdict_;
};

verdict search_quietly(execution& on, const execution::body& model, const effort& how) {
  const quiet_errors quiet;
  return search(on, model, how).run();
}

std::size_t interesting(const trail& schedule) {
  return static_cast<std::size_t>(std::count_if(schedule.begin(), schedule.end(),
                                                [](const choice& c) { return c.taken != 0 || c.promised; }));
}

}  // namespace

verdict explore(execution& on, const execution::body& model, const effort& how, bool shrink) {
  [[maybe_unused]] const crash_catcher catching;
  verdict v = search_quietly(on, model, how);
  if (v.found && shrink) {
    const trail shorter = shrink_schedule(on, model, v.found->schedule);
    if (std::optional<finding> again = replay(on, model, shorter)) {
      again->found_by = v.found->found_by;
      again->after = v.found->after;
      v.found = std::move(again);
    }
  }
  return v;
}

std::optional<finding> replay(execution& on, const execution::body& model, const trail& schedule) {
  [[maybe_unused]] const crash_catcher catching;
  run_settings how;
  how.traced = true;
  if (on.run(model, schedule, oracle::strategy::dull, 0, how) != outcome::failed) return std::nullopt;
  finding f;
  f.why = on.failure();
  f.found_by = "replay";
  f.after = 1;
  f.schedule = on.choices().taken();
  f.trace = on.trace();
  return f;
}

trail shrink_schedule(execution& on, const execution::body& model, trail schedule) {
  [[maybe_unused]] const crash_catcher catching;
  const quiet_errors quiet;
  if (on.run(model, schedule, oracle::strategy::dull, 0, {}) != outcome::failed) return schedule;
  const std::string why = on.failure();
  const auto still_fails = [&](const trail& tried) {
    if (on.run(model, tried, oracle::strategy::dull, 0, {}) != outcome::failed) return false;
    if (on.failure() != why) return false;
    if (interesting(on.choices().taken()) > interesting(tried)) return false;
    schedule = on.choices().taken();
    return true;
  };
  bool shorter = true;
  for (int rounds = 0; shorter && rounds < 20; ++rounds) {
    shorter = false;
    for (std::size_t i = schedule.size(); i-- > 0;) {
      if (i >= schedule.size() || (schedule[i].taken == 0 && !schedule[i].promised)) continue;
      trail without = schedule;
      without[i] = {};
      if (still_fails(without)) {
        shorter = true;
        continue;
      }
      without.resize(i);  // and nothing after it
      if (still_fails(without)) shorter = true;
    }
  }
  while (!schedule.empty() && schedule.back().taken == 0 && !schedule.back().promised) schedule.pop_back();
  return schedule;
}

}  // namespace weft::model
