// SPDX-License-Identifier: Apache-2.0
//
// machine_boost — the context switch by Boost.Context, for processors that weft has no switch of its own for.
//
// Boost tells the side that is being resumed where the other one was parked, rather than writing it down
// before it leaves. So the record of `from` is completed by whoever arrives, first thing, before anything
// else can be done with `from`.
#pragma once

#include "arch/attributes.hpp"

#include <boost/context/detail/fcontext.hpp>

namespace weft::impl {

/// Where a parked context keeps its registers (on its own stack, in Boost's case).
struct machine_context {
  boost::context::detail::fcontext_t parked = nullptr;
  void (*entry)(void*) = nullptr;
  void* argument = nullptr;

  [[nodiscard]] bool empty() const noexcept { return parked == nullptr; }
  /// The lowest byte of the stack that is in use, while it is parked.
  [[nodiscard]] const void* lowest_in_use() const noexcept { return parked; }
};

/// Whether change_stack() itself keeps the floating-point control words: Boost's does on x86, always.
#if defined(__x86_64__) || defined(__i386__)
inline constexpr bool switch_keeps_fp_control = true;
#else
inline constexpr bool switch_keeps_fp_control = false;
#endif

/// What travels over a switch: who left, and who is meant to arrive.
struct boost_hop {
  machine_context* from;
  machine_context* to;

  static const boost_hop& arrived(const boost::context::detail::transfer_t& transfer) noexcept {
    const auto* hop = static_cast<const boost_hop*>(transfer.data);
    hop->from->parked = transfer.fctx;
    return *hop;
  }
};

/// Makes a context that calls entry(argument) on the stack that ends at `top` (16-byte aligned).
inline void prepare(machine_context& context, void* top, void (*entry)(void*), void* argument) noexcept {
  constexpr auto base = [](boost::context::detail::transfer_t transfer) {
    const machine_context& self = *boost_hop::arrived(transfer).to;
    self.entry(self.argument);
    __builtin_trap();
  };
  // Boost uses the size for nothing but its own assertion on some processors; the true one is not known here.
  context = {boost::context::detail::make_fcontext(top, 4096, base), entry, argument};
}

/// Parks the caller in `from` and goes on where `to` was parked. After it, this may be another thread.
template <go_on /*Where*/>
WEFT_ALWAYS_INLINE void change_stack(machine_context& from, machine_context& to) noexcept {
  boost_hop hop{&from, &to};
  boost_hop::arrived(boost::context::detail::jump_fcontext(to.parked, &hop));
}

}  // namespace weft::impl
