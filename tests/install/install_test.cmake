# SPDX-License-Identifier: Apache-2.0
#
# Installs weft, moves the installation elsewhere (a package must be relocatable), and builds and runs a program
# against it in both ways.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_version program)
  run(${CMAKE_COMMAND} -E env "LD_LIBRARY_PATH=${prefix}/lib" "${program}")
  if(NOT output MATCHES "consumer of weft ${VERSION}: ok")
    message(FATAL_ERROR "unexpected output of ${program}: ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/moved here")  # with a space, as people have
run(${CMAKE_COMMAND} --install "${WEFT_BUILD}" --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${prefix}")
# Debian puts libraries into lib/<triplet> only for /usr; elsewhere it is lib or lib64.
file(GLOB_RECURSE package "${prefix}/*/weftConfig.cmake")
if(NOT package)
  message(FATAL_ERROR "no weftConfig.cmake was installed")
endif()

if(NOT EXISTS "${prefix}/share/weft/gdb/weft.py")
  message(FATAL_ERROR "the commands for gdb were not installed")
endif()

run(${CMAKE_COMMAND} -S "${CONSUMER}" -B "${WORK}/cmake" -G Ninja "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DEXPECTED_VERSION=${VERSION}")
run(${CMAKE_COMMAND} --build "${WORK}/cmake" --verbose)
if(NOT output MATCHES "-fstack-clash-protection")
  message(FATAL_ERROR "a user's code is not compiled with -fstack-clash-protection:\n${output}")
endif()
expect_version("${WORK}/cmake/consumer")

if(PKG_CONFIG)
  file(GLOB_RECURSE pc "${prefix}/*/weft.pc")
  get_filename_component(pc_dir "${pc}" DIRECTORY)
  run(${CMAKE_COMMAND} -E env "PKG_CONFIG_PATH=${pc_dir}" "${PKG_CONFIG}" --cflags --libs weft)
  string(STRIP "${output}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  separate_arguments(more UNIX_COMMAND "${FLAGS}")
  run("${CXX}" -std=c++20 ${more} "${CONSUMER}/consumer.cpp" -o "${WORK}/by_pkg_config" ${flags})
  expect_version("${WORK}/by_pkg_config")
else()
  message("pkg-config is not installed: only find_package was tested")
endif()
