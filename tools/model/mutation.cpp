// SPDX-License-Identifier: Apache-2.0

#include "model/mutation.hpp"

#include "model/model.hpp"
#include "model/ordered_calls.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace weft::model {
namespace {

struct options {
  std::string survivors;
  std::vector<std::string> folders;  // whose files are weakened
  unsigned shard = 1;
  unsigned shards = 1;
  bool verbose = false;
};

options parse(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--mutants=", 0) == 0) {
      o.survivors = argument.substr(std::strlen("--mutants="));
    } else if (argument.rfind("--in=", 0) == 0) {
      o.folders.push_back(
          std::filesystem::path(argument.substr(std::strlen("--in=")) + '/').lexically_normal());
    } else if (std::sscanf(argv[i], "--shard=%u/%u", &o.shard, &o.shards) == 2) {  // NOLINT(cert-err34-c)
      if (o.shard == 0 || o.shard > o.shards)
        throw std::runtime_error(argument + ": the shard must be 1 to N");
    } else if (argument == "--verbose") {
      o.verbose = true;
    } else {
      throw std::runtime_error("unknown argument " + argument +
                               "; there are --mutants=FILE --in=FOLDER --shard=I/N --verbose");
    }
  }
  if (o.folders.empty()) throw std::runtime_error("no --in=FOLDER: whose memory orders are to be weakened?");
  return o;
}

/// What a mutant must survive: less than a test run, since most die at once.
effort mutation_effort() {
  effort how = affordable_effort();
  how.exhaustive_limit = 100'000;
  how.pct = std::min<std::uint64_t>(how.pct / 5, 200'000);
  how.random = how.pct;
  return how;
}

/// Only the code under test is weakened, not the models and not the checker.
bool under_test(const mutant& site, const std::vector<std::string>& folders) {
  const std::string file = short_file(site.file);
  return file.find("_model.") == std::string::npos &&
         std::any_of(folders.begin(), folders.end(),
                     [&](const std::string& f) { return file.rfind(f, 0) == 0; });
}

using sites_by_model = std::map<const registered*, std::set<mutant>>;

sites_by_model find_sites() {
  sites_by_model sites;
  effort how = affordable_effort();
  how.exhaustive_limit = 20'000;
  how.pct = 2'000;
  how.random = 2'000;
  for (const registered& m : all_models()) {
    if (m.must_find != nullptr) continue;
    the_execution().record_sites(&sites[&m]);
    (void)explore(the_execution(), m.body, how, false);
    the_execution().record_sites(nullptr);
  }
  return sites;
}

/// The first model that kills the mutant, or null.
const registered* killer(const mutant& m, const sites_by_model& sites, const effort& how, std::string& why) {
  for (const auto& [model, touched] : sites) {
    mutant site = m;
    site.to = site.from;
    if (!touched.contains(site)) continue;
    the_execution().set_mutant(m);
    const verdict v = explore(the_execution(), model->body, how, false);
    the_execution().set_mutant(std::nullopt);
    if (!v.found) continue;
    why = v.found->why + " (" + v.found->found_by + ", " + std::to_string(v.found->after) + ")";
    return model;
  }
  return nullptr;
}

class campaign {
 public:
  explicit campaign(const options& with) : options_(with), reasons_(read_survivors(with.survivors)) {}

  int run() {
    const sites_by_model sites = find_sites();
    std::set<mutant> mutants;
    for (const auto& [model, touched] : sites) {
      for (const mutant& site : touched) {
        if (!under_test(site, options_.folders)) continue;
        for (const mutant& m : weakenings(site)) mutants.insert(m);
      }
    }
    std::set<std::string> known;
    unsigned index = 0;
    for (const mutant& m : mutants) {
      known.insert(key(m));
      if (index++ % options_.shards + 1 == options_.shard) judge(m, sites);
    }
    if (mutants.empty()) complain("is nowhere: the models use no memory order in these folders");
    expect_all_reached(sites);
    for (const auto& [text, reason] : reasons_) {
      if (!known.contains(text)) complain("no such mutant any more: " + text);
    }
    std::printf("%u mutants: %u killed, %u survive with a reason, %u complaints\n",
                killed_ + excused_ + unexcused_, killed_, excused_, complaints_);
    return complaints_ == 0 ? 0 : 1;
  }

 private:
  /// An order that no model comes to has no mutants, and would go unproven without anybody noticing.
  void expect_all_reached(const sites_by_model& sites) {
    std::set<std::pair<std::string, std::uint32_t>> reached;
    for (const auto& [model, touched] : sites) {
      for (const mutant& site : touched) reached.emplace(short_file(site.file), site.line);
    }
    for (const std::string& folder : options_.folders) {
      for (const std::string& file : headers_below(folder)) {
        for (const ordered_call& call : ordered_calls(repository_text(file))) {
          const auto next = reached.lower_bound({file, call.first_line});
          if (next != reached.end() && next->first == file && next->second <= call.last_line) continue;
          complain("is impossible where no model comes: " + file + ':' + std::to_string(call.first_line) +
                   ": " + source_line(file, call.first_line));
        }
      }
    }
  }

  void judge(const mutant& m, const sites_by_model& sites) {
    std::string why;
    const registered* const by = killer(m, sites, mutation_effort(), why);
    const std::string text = key(m);
    const bool excused = reasons_.contains(text);
    if (by != nullptr) {
      ++killed_;
      if (options_.verbose)
        std::printf("killed    %s\n          by %s.%s: %s\n", text.c_str(), by->suite, by->name, why.c_str());
      if (excused) complain("killed, though it has a reason to survive: " + text);
    } else if (excused) {
      ++excused_;
      if (options_.verbose) std::printf("survives  %s\n", text.c_str());
    } else {
      ++unexcused_;
      complain("survives, at line " + std::to_string(m.line) + ": " + text);
    }
    std::fflush(stdout);
  }

  void complain(const std::string& text) {
    ++complaints_;
    std::printf("mutant %s\n", text.c_str());
  }

  const options& options_;
  std::map<std::string, std::string> reasons_;
  unsigned killed_ = 0;
  unsigned excused_ = 0;
  unsigned unexcused_ = 0;
  unsigned complaints_ = 0;
};

}  // namespace

std::vector<mutant> weakenings(const mutant& site) {
  std::vector<mutant> all;
  const auto weaker = [&](std::memory_order to) {
    mutant m = site;
    m.to = to;
    all.push_back(m);
  };
  switch (site.what) {
    case operation::full_fence:
    case operation::light_barrier:
    case operation::heavy_barrier: weaker(std::memory_order_relaxed); return all;
    default: break;
  }
  const bool loads = site.what == operation::load || site.what == operation::cas_failure;
  switch (site.from) {
    case std::memory_order_seq_cst:
      weaker(loads                           ? std::memory_order_acquire
             : site.what == operation::store ? std::memory_order_release
                                             : std::memory_order_acq_rel);
      break;
    case std::memory_order_acq_rel:
      weaker(std::memory_order_acquire);
      weaker(std::memory_order_release);
      break;
    case std::memory_order_acquire:
    case std::memory_order_release: weaker(std::memory_order_relaxed); break;
    default: break;
  }
  return all;
}

std::string key(const mutant& m) {
  const bool left_out = m.what == operation::full_fence || m.what == operation::light_barrier ||
                        m.what == operation::heavy_barrier;
  const std::string change = left_out ? std::string(name(m.what)) + " left out"
                                      : std::string(name(m.what)) + ' ' + name(m.from) + " -> " + name(m.to);
  const std::string text = source_line(m.file, m.line);
  unsigned same = 1;  // lines that read alike are told apart by number
  for (std::uint32_t above = 1; above < m.line; ++above) same += source_line(m.file, above) == text ? 1U : 0U;
  return short_file(m.file) + " | " + change + " | " + text + (same > 1 ? " #" + std::to_string(same) : "");
}

std::map<std::string, std::string> read_survivors(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file + ": cannot be read; it lists the mutants that may survive");
  std::map<std::string, std::string> survivors;
  std::string* reason = nullptr;
  unsigned number = 0;
  const auto complain = [&](const char* what) {
    throw std::runtime_error(file + ":" + std::to_string(number) + ": " + what);
  };
  for (std::string text; std::getline(in, text);) {
    ++number;
    if (text.empty() || text[0] == '#') continue;
    if (text[0] != ' ') {
      if (reason != nullptr && reason->empty()) complain("the mutant above has no reason");
      const auto [at, fresh] = survivors.try_emplace(text);
      if (!fresh) complain("the mutant is listed twice");
      reason = &at->second;
      continue;
    }
    if (reason == nullptr) complain("a reason without a mutant");
    *reason += text.substr(text.find_first_not_of(' ')) + ' ';
  }
  if (reason != nullptr && reason->empty()) complain("the mutant above has no reason");
  return survivors;
}

int mutation_main(int argc, char** argv) {
  try {
    const options asked = parse(argc, argv);
    return campaign(asked).run();
  } catch (const std::exception& wrong) {
    std::printf("%s\n", wrong.what());
    return 2;
  }
}

}  // namespace weft::model
