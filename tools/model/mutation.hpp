// SPDX-License-Identifier: Apache-2.0
//
// mutation — how good are the models? Each memory order of the code under test is weakened by one step, each fence
// and barrier left out, one at a time; some model must then fail.
//
// Mutants that survive are either redundant orders, which the code should not have, or stronger than the checker's
// memory can tell, which a person must argue. The argument stands in a file of survivors that is checked both ways: a
// survivor without a reason fails, and so does a reason whose mutant dies or is gone. The form of the file:
//
//     src/queue/inbox.hpp | load acquire -> relaxed | head_.load(std::memory_order_acquire)
//         Why it is kept, or why it cannot matter.
//
// A line that reads like one above it in its file has " #2" behind it, and so on.
#pragma once

#include "model/site.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft::model {

/// The mutants of a site: each weaker order one step down, or the operation left out.
[[nodiscard]] std::vector<mutant> weakenings(const mutant& site);

/// The survivor file's key for a mutant.
[[nodiscard]] std::string key(const mutant& m);

/// Survivors with their reasons.
///
/// Throws: std::runtime_error that names file and line of what it cannot read.
[[nodiscard]] std::map<std::string, std::string> read_survivors(const std::string& file);

/// PROGRAM --mutants=FILE --in=FOLDER... [--shard=I/N] [--verbose]: tries the mutants of the code in these folders.
///
/// Returns: 0 if every mutant is killed or has its reason in FILE.
int mutation_main(int argc, char** argv);

}  // namespace weft::model
