// SPDX-License-Identifier: Apache-2.0
//
// nursery_access — what the template of a nursery asks of the library.
#pragma once

#include <weft/config.hpp>
#include <weft/detail/source_site.hpp>
#include <weft/detail/task_access.hpp>
#include <weft/detail/task_code.hpp>

#include <cstddef>
#include <exception>

namespace weft::detail {

/// A nursery's own, in the frame of whoever opened it; of which the template knows nothing but the size.
struct alignas(64) nursery_state {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init,modernize-use-equals-default): open_nursery() does it
  nursery_state() noexcept {}

  std::byte bytes[192];
};

/// Opens a nursery whose children run in this context; null: each in that of who spawns it.
///
/// Throws: std::system_error where there is no runtime.
WEFT_EXPORT void open_nursery(nursery_state& made, context_core* in);

/// A record for a child. Throws std::system_error without memory.
[[nodiscard]] WEFT_EXPORT task_record& new_child(nursery_state& of, const task_code& code, packed_site site);
/// Lets a child run. Throws std::system_error(errc::shut_down) if its runtime takes no more; then the closure is destroyed.
WEFT_EXPORT void begin_child(nursery_state& of, task_record& made);

/// All at once, for a closure that is nothing but bytes.
WEFT_EXPORT void spawn_child_words(nursery_state& of, const task_code& code, packed_site site,
                                   closure_words closure);

WEFT_EXPORT void cancel_nursery(nursery_state& of) noexcept;
/// Something has failed that belongs to the nursery: the children are asked to stop.
WEFT_EXPORT void fail_nursery(nursery_state& of, std::exception_ptr why) noexcept;

/// Waits for the children, and ends the nursery. `is_cancelled`: they are asked to stop first, because the body was.
///
/// Throws: the first failure; weft::cancelled if the caller was asked to stop.
WEFT_EXPORT void close_nursery(nursery_state& ended, bool is_cancelled);

}  // namespace weft::detail
