# SPDX-License-Identifier: Apache-2.0
#
# WeftTesting — GoogleTest, and the functions that make weft's tests.
#
# Debian ships GoogleTest's sources (package googletest), which are built here with the very flags of the
# configuration at hand: sanitizers and cross-compilers need that. An installed GoogleTest serves otherwise.

set(weft_gtest_sources "/usr/src/googletest" CACHE PATH "Where GoogleTest's sources are, if they are to be built")
if(EXISTS "${weft_gtest_sources}/CMakeLists.txt")
  set(INSTALL_GTEST OFF CACHE INTERNAL "")
  set(BUILD_GMOCK ON CACHE INTERNAL "")
  set(weft_saved_shared "${BUILD_SHARED_LIBS}")
  set(BUILD_SHARED_LIBS OFF)
  add_subdirectory("${weft_gtest_sources}" "${PROJECT_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL SYSTEM)
  set(BUILD_SHARED_LIBS "${weft_saved_shared}")
  foreach(target IN ITEMS gtest gtest_main gmock gmock_main)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON EXPORT_COMPILE_COMMANDS OFF)
    if(WEFT_SANITIZE)
      target_compile_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer)
    endif()
  endforeach()
  if(NOT TARGET GTest::gmock_main)
    add_library(GTest::gmock_main ALIAS gmock_main)
  endif()
else()
  find_package(GTest REQUIRED)
endif()
include(GoogleTest)

# How much the heavy tests do: everything, or as much as a slow build (sanitizers, emulation) can do in time.
if(WEFT_SANITIZE OR CMAKE_CROSSCOMPILING OR CMAKE_CXX_FLAGS MATCHES "--coverage")
  set(WEFT_TEST_SCALE small)
else()
  set(WEFT_TEST_SCALE full)
endif()
set(WEFT_TEST_DEFINITIONS WEFT_TEST_SCALE_${WEFT_TEST_SCALE})

# What does not depend on how weft is built (models of its protocols) is done thoroughly in one build only.
set(WEFT_PLAIN_RELEASE ON)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR BUILD_SHARED_LIBS
   OR CMAKE_INTERPROCEDURAL_OPTIMIZATION OR WEFT_USES_BOOST_SWITCH OR NOT WEFT_PLATFORM STREQUAL "real" OR WEFT_CHECK
   OR WEFT_TEST_SCALE STREQUAL "small")
  set(WEFT_PLAIN_RELEASE OFF)
endif()

set(WEFT_PLAIN_SANITIZER OFF)
if(WEFT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING AND NOT WEFT_FORCE_MIGRATION)
  set(WEFT_PLAIN_SANITIZER ON)
endif()

# The storms of a long run last long in that build and in the sanitizers', and not in every variant.
if(WEFT_PLAIN_RELEASE OR WEFT_PLAIN_SANITIZER)
  list(APPEND WEFT_TEST_DEFINITIONS WEFT_TEST_LONG_STORMS)
endif()
if(CMAKE_CROSSCOMPILING)
  list(APPEND WEFT_TEST_DEFINITIONS WEFT_TEST_EMULATED)  # memory figures are the emulator's, not ours
endif()

# What every test runs with. Zero suppressions, and the sanitizers' own handler stays out of weft's way. One variable: where gtest's tests
# are discovered, no separator of a list survives.
if(WEFT_SANITIZE MATCHES "thread")
  set(WEFT_TEST_ENVIRONMENT "TSAN_OPTIONS=halt_on_error=0:exitcode=66:atexit_sleep_ms=100")
else()
  set(WEFT_TEST_ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=1:allow_user_segv_handler=1:detect_leaks=1")
endif()
# weft_test_defaults(test): time limit and environment.
function(weft_test_defaults)
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT 300 ENVIRONMENT "${WEFT_TEST_ENVIRONMENT}")
endfunction()

# What every test includes is compiled once for all of them: parsing it takes longer than most tests themselves.
# clang-tidy's build does without, and so finds what a test forgets to include.
option(WEFT_TEST_PCH "Precompile the headers that all tests share" ON)
if(WEFT_TEST_PCH)
  add_library(weft_test_headers OBJECT "${PROJECT_SOURCE_DIR}/tests/support/test_headers.cpp")
  target_link_libraries(weft_test_headers PRIVATE weft_internal GTest::gmock)
  target_compile_definitions(weft_test_headers PRIVATE ${WEFT_TEST_DEFINITIONS})
  target_precompile_headers(
    weft_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <weft/weft.hpp> <algorithm> <array> <atomic> <chrono>
                              <memory> <string> <thread> <vector>
  )
endif()

# weft_add_unit_tests(name sources... [PROPERTIES ...]): one GoogleTest program that sees weft's insides.
function(weft_add_unit_tests name)
  cmake_parse_arguments(arg "" "" "PROPERTIES" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE weft_internal GTest::gmock_main ${CMAKE_DL_LIBS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE ${WEFT_TEST_DEFINITIONS})
  # DEFINE_SYMBOL: one definition that differs, and the precompiled headers would be of no use.
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON DEFINE_SYMBOL "")
  if(WEFT_TEST_PCH)
    target_precompile_headers(${name} REUSE_FROM weft_test_headers)
  endif()
  gtest_discover_tests(
    ${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300 ENVIRONMENT "${WEFT_TEST_ENVIRONMENT}" ${arg_PROPERTIES}
  )
endfunction()

# weft_add_stress_tests(name [ALONE] sources...): the same for heavy tests, which may take long in a long run. ALONE: no other
# test runs at the same time, because threads must really meet for it to see what it looks for.
function(weft_add_stress_tests name)
  cmake_parse_arguments(arg "ALONE" "" "" ${ARGN})
  set(properties TIMEOUT 5400) # of a long run, with a sanitizer, on a machine that others use as well
  if(arg_ALONE)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  weft_add_unit_tests(${name} ${arg_UNPARSED_ARGUMENTS} PROPERTIES ${properties})
endfunction()

# weft_add_models(name [SURVIVORS file MUTATES folder...] SOURCES source...): one program of models, each a test; and, in the
# plain release, tests that weaken every memory order in these folders and find each mutant dead or listed in the file.
# A model does not depend on how weft is built: that release has them all, AddressSanitizer looks at what they touch, and
# other builds have those without a folder, which test the checker.
function(weft_add_models name)
  cmake_parse_arguments(arg "" "SURVIVORS" "MUTATES;SOURCES" ${ARGN})
  if(arg_SURVIVORS AND NOT arg_MUTATES)
    message(FATAL_ERROR "weft_add_models(${name}): SURVIVORS needs MUTATES, the folders whose orders are weakened")
  endif()
  set(sees_memory OFF)
  if((WEFT_PLAIN_SANITIZER AND WEFT_SANITIZE MATCHES "address") OR CMAKE_CXX_FLAGS MATCHES "--coverage")
    set(sees_memory ON)
  endif()
  if(arg_SURVIVORS AND NOT WEFT_PLAIN_RELEASE AND NOT sees_memory)
    return()
  endif()
  if(NOT TARGET weft_model_main)
    add_library(
      weft_model_main STATIC "${PROJECT_SOURCE_DIR}/tools/model/main.cpp" "${PROJECT_SOURCE_DIR}/tools/model/model.cpp"
                             "${PROJECT_SOURCE_DIR}/tools/model/mutation.cpp"
    )
    target_link_libraries(weft_model_main PUBLIC weft_model GTest::gtest)
    target_include_directories(weft_model_main PUBLIC "${PROJECT_SOURCE_DIR}/tests")
    if(WEFT_PLAIN_RELEASE)
      target_compile_definitions(weft_model_main PRIVATE WEFT_TEST_SCALE_full)
    endif()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE weft_model_main)
  target_compile_options(${name} PRIVATE -UNDEBUG)  # the assertions of the code under test are checked too
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 1200 LABELS model ENVIRONMENT "${WEFT_TEST_ENVIRONMENT}")
  if(arg_SURVIVORS AND WEFT_PLAIN_RELEASE)
    foreach(shard IN ITEMS 1 2)
      list(TRANSFORM arg_MUTATES PREPEND --in= OUTPUT_VARIABLE folders)
      add_test(NAME mutants.${name}.${shard} COMMAND ${name} "--mutants=${arg_SURVIVORS}" ${folders} --shard=${shard}/2)
      set_tests_properties(mutants.${name}.${shard} PROPERTIES TIMEOUT 3600 LABELS mutants)
    endforeach()
  endif()
endfunction()

# The library once more, with link-time optimisation or with a fault planted in it, as a single unit so that it
# builds quickly. Made on first use.
function(weft_library_variant result lto plant)
  set(name weft_variant)
  if(lto)
    string(APPEND name _lto)
  endif()
  if(plant)
    string(TOLOWER "${plant}" suffix)
    string(APPEND name _${suffix})
  endif()
  if(NOT TARGET ${name})
    weft_add_library(${name} STATIC)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0
                                             INTERPROCEDURAL_OPTIMIZATION ${lto} EXPORT_COMPILE_COMMANDS OFF)
    if(plant)
      target_compile_definitions(${name} PUBLIC WEFT_PLANT_${plant})
    endif()
  endif()
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# One program of a cure: form is exe, so or lto; plant may be empty.
function(weft_add_cure_program name source form plant)
  set(lto OFF)
  if(form STREQUAL "lto")
    set(lto ON)
  endif()
  if(plant OR lto)
    weft_library_variant(library "${lto}" "${plant}")
  else()
    set(library ${WEFT_OPEN_LIBRARY})
  endif()
  set(main "${PROJECT_SOURCE_DIR}/tests/cures/main.cpp")
  if(form STREQUAL "so")
    add_library(${name}_body SHARED ${source})
    set(body ${name}_body)
    add_executable(${name} ${main})
    target_link_libraries(${name} PRIVATE ${body} weft_private_flags)
  else()
    set(body ${name})
    add_executable(${name} ${main} ${source})
  endif()
  target_link_libraries(${body} PRIVATE ${library} weft_internal_view weft_private_flags)
  target_include_directories(${body} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${body} PRIVATE ${WEFT_TEST_DEFINITIONS})
  set_target_properties(${body} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ${lto})
endfunction()

# weft_add_cure(name source [PLANTS fault...] [WITHOUT option...]): a fault that hurt others, and its cure.
#
# The test must pass in an executable, in a shared library (linked, and loaded at run time) and under link-time
# optimisation; and with the cure taken out (each of PLANTS, or a compile option of WITHOUT) it must fail.
function(weft_add_cure name source)
  cmake_parse_arguments(arg "" "" "PLANTS;WITHOUT" ${ARGN})
  set(forms exe so lto)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR WEFT_SANITIZE)
    # A planted fault may need an optimiser to do harm, and a sanitizer sees some of them first.
    set(forms exe so)
    set(arg_PLANTS "")
    set(arg_WITHOUT "")
  endif()
  if(NOT TARGET cure_dlopen)
    add_executable(cure_dlopen "${PROJECT_SOURCE_DIR}/tests/cures/dlopen_main.cpp")
    target_link_libraries(cure_dlopen PRIVATE weft_private_flags ${CMAKE_DL_LIBS})
  endif()
  add_test(NAME cure.${name}.dlopen COMMAND cure_dlopen $<TARGET_FILE:cure_${name}_so_body>)
  weft_test_defaults(cure.${name}.dlopen)
  foreach(form IN LISTS forms)
    set(program cure_${name}_${form})
    weft_add_cure_program(${program} "${source}" ${form} "")
    add_test(NAME cure.${name}.${form} COMMAND ${program})
    weft_test_defaults(cure.${name}.${form})
    foreach(plant IN LISTS arg_PLANTS)
      string(TOLOWER "${plant}" suffix)
      weft_add_cure_program(${program}_${suffix} "${source}" ${form} "${plant}")
      weft_expect_failure(cure.${name}.${form}.fails_with_${suffix} ${program}_${suffix})
    endforeach()
    foreach(option IN LISTS arg_WITHOUT)
      string(MAKE_C_IDENTIFIER "${option}" suffix)
      # Options of a source file come after those a target inherits, and so win: hence a file of its own.
      set(wrapped "${CMAKE_CURRENT_BINARY_DIR}/${program}${suffix}.cpp")
      file(CONFIGURE OUTPUT "${wrapped}" CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"\n")
      set_source_files_properties("${wrapped}" PROPERTIES COMPILE_OPTIONS "${option}")
      weft_add_cure_program(${program}${suffix} "${wrapped}" ${form} "")
      weft_expect_failure(cure.${name}.${form}.fails_with${suffix} ${program}${suffix})
    endforeach()
  endforeach()
endfunction()

# weft_expect_failure(test program): the program must run and report failed expectations.
function(weft_expect_failure test program)
  add_test(
    NAME ${test}
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${program}>" "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
            -P "${PROJECT_SOURCE_DIR}/tests/cures/expect_failure.cmake"
  )
  weft_test_defaults(${test})
endfunction()
