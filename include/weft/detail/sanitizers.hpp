// SPDX-License-Identifier: Apache-2.0
//
// sanitizers — which of them this is compiled with, found out the same way for g++ and clang.
#pragma once

#if defined(__has_feature)
#define WEFT_HAS_FEATURE(name) __has_feature(name)
#else
#define WEFT_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || WEFT_HAS_FEATURE(address_sanitizer)
#define WEFT_ADDRESS_SANITIZER 1
#else
#define WEFT_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || WEFT_HAS_FEATURE(thread_sanitizer)
#define WEFT_THREAD_SANITIZER 1
#else
#define WEFT_THREAD_SANITIZER 0
#endif

#undef WEFT_HAS_FEATURE
