// SPDX-License-Identifier: Apache-2.0
//
// cancelled — what a task is thrown when it was asked to stop.
#pragma once

namespace weft {

/// Thrown by a wait of a task that was asked to stop, so that its stack unwinds and its destructors run.
///
/// It is no std::exception: `catch (const std::exception&)` around a piece of work lets it pass. To catch it is harmless:
/// cancellation is a level, so the next wait throws it again.
class cancelled {};

}  // namespace weft
