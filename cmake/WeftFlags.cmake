# SPDX-License-Identifier: Apache-2.0
#
# WeftFlags — how weft compiles its own code (weft_private_flags), and what a user's code needs as well
# (weft_user_flags): only the protection that makes guards catch large frames.
include(CheckCXXCompilerFlag)

# Everything below is for weft's own targets and leaks to nobody.
add_library(weft_private_flags INTERFACE)
target_compile_features(weft_private_flags INTERFACE cxx_std_20)
target_compile_options(
  weft_private_flags
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wold-style-cast;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wcast-align;-Wimplicit-fallthrough>
)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(weft_private_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
endif()
option(WEFT_WARNINGS_ARE_ERRORS "Fail on any compiler warning in weft's own code" ${PROJECT_IS_TOP_LEVEL})
if(WEFT_WARNINGS_ARE_ERRORS)
  target_compile_options(weft_private_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# Files are named in messages as they lie in the repository, wherever that was when they were compiled.
target_compile_options(
  weft_private_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>
)

# Branch targets are marked; a shadow stack is not claimed, since the switch does not keep one.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  target_compile_options(weft_private_flags INTERFACE -fcf-protection=branch)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  target_compile_options(weft_private_flags INTERFACE -mbranch-protection=bti)
endif()

if(WEFT_SANITIZE)
  target_compile_options(
    weft_private_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WEFT_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>
  )
  target_link_options(weft_private_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()

# A frame larger than the guard must touch each page on its way, or it would step over the guard. This is for
# the code of users too: it is their frames that overflow.
add_library(weft_user_flags INTERFACE)
check_cxx_compiler_flag(-fstack-clash-protection WEFT_HAS_STACK_CLASH_PROTECTION)
if(WEFT_HAS_STACK_CLASH_PROTECTION)
  target_compile_options(
    weft_user_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-fstack-clash-protection>
                              $<$<COMPILE_LANG_AND_ID:C,GNU,Clang>:-fstack-clash-protection>
  )
endif()
set_target_properties(weft_user_flags PROPERTIES EXPORT_NAME user_flags)

# Which switch.
set(WEFT_USES_BOOST_SWITCH OFF)
if(WEFT_SWITCH STREQUAL "boost")
  set(WEFT_USES_BOOST_SWITCH ON)
elseif(WEFT_SWITCH MATCHES "^(auto|native)$")
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|aarch64|arm64)$")
    if(WEFT_SWITCH STREQUAL "native")
      message(FATAL_ERROR "WEFT_SWITCH=native, but weft has no context switch of its own for "
                          "${CMAKE_SYSTEM_PROCESSOR}: use auto or boost")
    endif()
    set(WEFT_USES_BOOST_SWITCH ON)
  endif()
else()
  message(FATAL_ERROR "WEFT_SWITCH=${WEFT_SWITCH} is not one of auto, native, boost")
endif()
if(NOT WEFT_PLATFORM MATCHES "^(real|interposed)$")
  message(FATAL_ERROR "WEFT_PLATFORM=${WEFT_PLATFORM} is not one of real, interposed")
endif()
if(WEFT_USES_BOOST_SWITCH)
  find_package(Boost 1.74 REQUIRED COMPONENTS context)
endif()
find_package(Threads REQUIRED)
