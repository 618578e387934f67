// SPDX-License-Identifier: Apache-2.0

#include "stack/registry.hpp"

namespace weft::impl {

constinit slab_registry process_slabs;

}  // namespace weft::impl
