// SPDX-License-Identifier: Apache-2.0
//
// machine — chooses the file that knows how this processor changes stacks.
//
// Each such file gives the same things:
//   machine_context            where a parked context keeps its registers; empty() while it runs
//   prepare(context, top, entry, argument)   makes a context that will call entry(argument) at the top of a stack
//   change_stack(from, to)     parks the caller in `from` and goes on where `to` was parked
//   switch_keeps_fp_control    whether the floating-point control words are kept by that already
//
// x86-64 and aarch64 are weft's own; every other processor, and any by choice, goes through Boost.Context.
#pragma once

#if defined(WEFT_SWITCH_BOOST)
#include "arch/machine_boost.hpp"
#elif defined(__x86_64__) && defined(__LP64__)
#include "arch/machine_x86_64.hpp"
#elif defined(__aarch64__) && defined(__LP64__)
#include "arch/machine_aarch64.hpp"
#else
#error "weft has no context switch of its own for this processor: configure with -DWEFT_SWITCH=boost"
#endif
