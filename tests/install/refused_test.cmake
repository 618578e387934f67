# SPDX-License-Identifier: Apache-2.0
#
# What cannot be is refused when weft is configured, in one sentence that names the option, the value and what is legal.
function(expect_refusal option value legal)
  file(REMOVE_RECURSE "${WORK}")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}" "-DCMAKE_CXX_COMPILER=${CXX}" "-D${option}=${value}"
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE said
  )
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  string(FIND "${said}" "${option} is '${value}'; it is a number of ${legal}" found)
  if(result EQUAL 0 OR found EQUAL -1)
    message(FATAL_ERROR "${option}=${value} was not refused as it should be (${result}): ${said}")
  endif()
endfunction()

foreach(value 257 -1 many 1.5)
  expect_refusal(WEFT_FIXED_WORKERS ${value} "workers from 1 to 256, or 0 for as many as the machine has processors")
endforeach()
foreach(value 0 1024 64K 8388609)
  expect_refusal(WEFT_DEFAULT_STACK_SIZE ${value} "bytes from 8192 to 8388608")
endforeach()
