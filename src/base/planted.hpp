// SPDX-License-Identifier: Apache-2.0
//
// planted — faults put back on purpose, to prove that the tests would notice.
//
// Each constant is false in every build that is shipped or used. The tests compile a second copy of the
// library with one of them true (weft_add_planted_test in cmake/WeftTesting.cmake) and demand that the very
// test which guards the cure then fails. The names say what is wrong when the constant is true.
#pragma once

namespace weft::impl::planted {

#ifdef WEFT_PLANT_EXCEPTION_STATE_STAYS_WITH_THREAD
inline constexpr bool exception_state_stays_with_thread = true;
#else
/// The switch forgets __cxa_eh_globals: a fiber's `throw;` rethrows another fiber's exception.
inline constexpr bool exception_state_stays_with_thread = false;
#endif

#ifdef WEFT_PLANT_THREAD_LOCAL_READ_PLAINLY
inline constexpr bool thread_local_read_plainly = true;
#else
/// The carrier is read by an ordinary thread_local access, whose address compilers keep over a switch.
inline constexpr bool thread_local_read_plainly = false;
#endif

#ifdef WEFT_PLANT_GUARDS_BELIEVED_UNPROVEN
inline constexpr bool guards_believed_unproven = true;
#else
/// MADV_GUARD_INSTALL returning 0 is taken as proof that a guard is there.
inline constexpr bool guards_believed_unproven = false;
#endif

}  // namespace weft::impl::planted
