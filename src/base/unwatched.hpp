// SPDX-License-Identifier: Apache-2.0
//
// unwatched — functions whose loads and stores ThreadSanitizer does not look at.
#pragma once

#include <weft/detail/sanitizers.hpp>

// A function whose frame outlives a change of identity in ThreadSanitizer's eyes: it must not tell the sanitizer that it was
// entered by one, and left by another. Also one that a signal calls on a stack which is another's a moment later.
#if WEFT_THREAD_SANITIZER
#define WEFT_UNWATCHED __attribute__((no_sanitize("thread")))
#else
#define WEFT_UNWATCHED
#endif
