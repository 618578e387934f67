// SPDX-License-Identifier: Apache-2.0
//
// fwd — the names of weft without their definitions, for headers that only mention them.
#pragma once

namespace weft {

enum class errc : int;

template <class T>
class result;

}  // namespace weft
