# SPDX-License-Identifier: Apache-2.0
#
# WeftLibrary — the sources of weft, and a function that makes a library of them.
#
# There is one library, `weft`. The tests make further copies with other flags (link-time optimisation,
# planted faults), which is why this is a function.

set(WEFT_PUBLIC_HEADERS
    include/weft/backoff.hpp
    include/weft/blocking.hpp
    include/weft/cancelled.hpp
    include/weft/config.hpp
    include/weft/deque.hpp
    include/weft/deque_channel.hpp
    include/weft/detail/assert.hpp
    include/weft/detail/at_end.hpp
    include/weft/detail/atomics.hpp
    include/weft/detail/cache_line.hpp
    include/weft/detail/chase_lev.hpp
    include/weft/detail/chase_lev_buffer.hpp
    include/weft/detail/completion.hpp
    include/weft/detail/duration.hpp
    include/weft/detail/join_arm.hpp
    include/weft/detail/lone_cell.hpp
    include/weft/detail/mpmc_ring.hpp
    include/weft/detail/nursery_access.hpp
    include/weft/detail/race_identity.hpp
    include/weft/detail/runnable.hpp
    include/weft/detail/sanitizers.hpp
    include/weft/detail/source_site.hpp
    include/weft/detail/task_access.hpp
    include/weft/detail/task_body.hpp
    include/weft/detail/task_code.hpp
    include/weft/detail/tls.hpp
    include/weft/detail/top_word.hpp
    include/weft/detail/words.hpp
    include/weft/detail/work_deque.hpp
    include/weft/detail/work_ring.hpp
    include/weft/detail/worker_front.hpp
    include/weft/dump.hpp
    include/weft/error.hpp
    include/weft/custom_context.hpp
    include/weft/execution_context.hpp
    include/weft/fiber_local.hpp
    include/weft/fwd.hpp
    include/weft/handle.hpp
    include/weft/join.hpp
    include/weft/no_suspend.hpp
    include/weft/nursery.hpp
    include/weft/pin_guard.hpp
    include/weft/presets.hpp
    include/weft/result.hpp
    include/weft/runtime.hpp
    include/weft/runtime_options.hpp
    include/weft/spawn.hpp
    include/weft/spawn_options.hpp
    include/weft/statistics.hpp
    include/weft/steal_result.hpp
    include/weft/suspend.hpp
    include/weft/task_context.hpp
    include/weft/task_info.hpp
    include/weft/this_fiber.hpp
    include/weft/weft.hpp
)
set(WEFT_SOURCES
    # base
    src/base/error.cpp
    src/base/report.cpp
    # arch
    src/arch/carrier.cpp
    src/arch/eh_globals.cpp
    src/arch/fault.cpp
    src/arch/parked_calls.cpp
    src/arch/sanitizer.cpp
    src/arch/shadow_stack.cpp
    src/arch/tls.cpp
    # sys
    src/sys/backtrace.cpp
    src/sys/clock.cpp
    src/sys/entropy.cpp
    src/sys/fault_handler.cpp
    src/sys/fork.cpp
    src/sys/futex.cpp
    src/sys/membarrier.cpp
    src/sys/memory.cpp
    src/sys/process_memory.cpp
    src/sys/processors.cpp
    src/sys/quit_signal.cpp
    src/sys/symbol.cpp
    src/sys/thread.cpp
    src/sys/thread_calls.cpp
    src/sys/thread_place.cpp
    src/sys/thread_state.cpp
    src/sys/thread_value.cpp
    # stack
    src/stack/depth_book.cpp
    src/stack/manual_fiber.cpp
    src/stack/overflow.cpp
    src/stack/registry.cpp
    src/stack/stack_pool.cpp
    src/stack/usage.cpp
    # event
    src/event/futex_loop.cpp
    # sched
    src/sched/arranged.cpp
    src/sched/belongings.cpp
    src/sched/blocking_threads.cpp
    src/sched/checked_options.cpp
    src/sched/commons.cpp
    src/sched/context_table.cpp
    src/sched/crew.cpp
    src/sched/custom_context.cpp
    src/sched/debug_map.cpp
    src/sched/default_runtime.cpp
    src/sched/dump.cpp
    src/sched/environment.cpp
    src/sched/execution_context.cpp
    src/sched/farewell.cpp
    src/sched/fork_watch.cpp
    src/sched/held_locks.cpp
    src/sched/identity.cpp
    src/sched/loop.cpp
    src/sched/no_suspend.cpp
    src/sched/nursery.cpp
    src/sched/overflow_fate.cpp
    src/sched/overseer.cpp
    src/sched/pin.cpp
    src/sched/pool.cpp
    src/sched/presets.cpp
    src/sched/quit_dump.cpp
    src/sched/registry.cpp
    src/sched/running_task.cpp
    src/sched/runtime.cpp
    src/sched/sleep.cpp
    src/sched/statistics.cpp
    src/sched/sysmon.cpp
    src/sched/task_access.cpp
    src/sched/task_name.cpp
    src/sched/unobserved.cpp
    src/sched/worker.cpp
    src/sched/worker_search.cpp
)
if(WEFT_CHECK)
  list(APPEND WEFT_SOURCES src/sys/lock_hooks.cpp)
endif()
if(NOT WEFT_USES_BOOST_SWITCH)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(APPEND WEFT_SOURCES src/arch/call_as_parked_aarch64.S src/arch/fiber_base_aarch64.S)
  else()
    list(APPEND WEFT_SOURCES src/arch/call_as_parked_x86_64.S src/arch/fiber_base_x86_64.S)
  endif()
endif()
list(TRANSFORM WEFT_SOURCES PREPEND "${PROJECT_SOURCE_DIR}/")
list(TRANSFORM WEFT_PUBLIC_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/")

set(WEFT_GENERATED_INCLUDE "${PROJECT_BINARY_DIR}/generated/include")
configure_file("${PROJECT_SOURCE_DIR}/cmake/version.hpp.in" "${WEFT_GENERATED_INCLUDE}/weft/version.hpp" @ONLY)

# What code inside this repository needs to see private headers. Never exported.
add_library(weft_internal_view INTERFACE)
target_include_directories(weft_internal_view INTERFACE "${PROJECT_SOURCE_DIR}/src")
if(WEFT_USES_BOOST_SWITCH)
  target_compile_definitions(weft_internal_view INTERFACE WEFT_SWITCH_BOOST)
  target_link_libraries(weft_internal_view INTERFACE Boost::context)
endif()
if(WEFT_PLATFORM STREQUAL "interposed")
  target_compile_definitions(weft_internal_view INTERFACE WEFT_PLATFORM_INTERPOSED)
endif()
target_compile_definitions(
  weft_internal_view INTERFACE WEFT_FIXED_WORKERS=${WEFT_FIXED_WORKERS} WEFT_DEFAULT_STACK_SIZE=${WEFT_DEFAULT_STACK_SIZE}
)
if(WEFT_CHECK)
  target_compile_definitions(weft_internal_view INTERFACE WEFT_CHECKS_LOCKS)
endif()
if(WEFT_FORCE_MIGRATION)
  target_compile_definitions(weft_internal_view INTERFACE WEFT_FORCE_MIGRATION)
endif()

# weft_add_library(name [STATIC|SHARED|OBJECT]): all of weft as one library.
function(weft_add_library name)
  add_library(${name} ${ARGN} ${WEFT_SOURCES})
  target_sources(
    ${name}
    PUBLIC FILE_SET HEADERS
           BASE_DIRS "${PROJECT_SOURCE_DIR}/include" "${WEFT_GENERATED_INCLUDE}"
           FILES ${WEFT_PUBLIC_HEADERS} "${WEFT_GENERATED_INCLUDE}/weft/version.hpp"
  )
  target_compile_features(${name} PUBLIC cxx_std_20)
  if(WEFT_SINGLE_THREADED)
    target_compile_definitions(${name} PUBLIC WEFT_SINGLE_THREADED)
  endif()
  set_target_properties(
    ${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON
                       CXX_EXTENSIONS OFF VERIFY_INTERFACE_HEADER_SETS ON
  )
  target_link_libraries(${name} PUBLIC Threads::Threads weft_user_flags PRIVATE $<BUILD_INTERFACE:weft_private_flags>
                                                                               $<BUILD_INTERFACE:weft_internal_view>)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  # A fault handler must not be unloaded: whatever shared object weft ends up in stays for the process's life.
  target_link_options(${name} PUBLIC LINKER:-z,nodelete)
  if(WEFT_USES_BOOST_SWITCH)
    target_link_libraries(${name} PRIVATE Boost::context)
  endif()
endfunction()

# The library together with a view of its insides, for tests, the tour and the benchmarks. In a build of the
# shared library the insides are hidden, so these link a static copy of it.
if(BUILD_SHARED_LIBS)
  weft_add_library(weft_open STATIC)
  set(WEFT_OPEN_LIBRARY weft_open)
else()
  set(WEFT_OPEN_LIBRARY weft)
endif()
add_library(weft_internal INTERFACE)
target_link_libraries(weft_internal INTERFACE ${WEFT_OPEN_LIBRARY} weft_internal_view weft_private_flags)
