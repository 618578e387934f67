// SPDX-License-Identifier: Apache-2.0
//
// shadow_stack — whether the processor keeps a second stack of return addresses for the calling thread.
//
// weft's objects do not claim to support one (their ELF notes say so), so the loader leaves it off. Where
// something else has turned it on, a switch of stacks would be answered by a fault at the next `ret`; weft
// refuses to start there instead.
#pragma once

namespace weft::impl {

[[nodiscard]] bool shadow_stack_active() noexcept;

}  // namespace weft::impl
