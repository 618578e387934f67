# SPDX-License-Identifier: Apache-2.0
#
# Runs a program whose cure was taken out, and fails unless the program noticed: it must end by saying that
# expectations failed. A crash for some other reason, or a program that cannot start, is no proof.
execute_process(
  COMMAND ${EMULATOR} ${PROGRAM}
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output
  RESULT_VARIABLE result
  TIMEOUT 240
)
message("${output}")
if(NOT output MATCHES "cure: [1-9][0-9]* expectations? failed")
  message(FATAL_ERROR "the cure was taken out and the test did not notice (result: ${result})")
endif()
