// SPDX-License-Identifier: Apache-2.0
//
// failure — how a public function of the scheduler fails.
#pragma once

#include <system_error>

namespace weft::impl {

[[noreturn, gnu::cold, gnu::noinline]] inline void fail(std::error_code why) { throw std::system_error(why); }

}  // namespace weft::impl
