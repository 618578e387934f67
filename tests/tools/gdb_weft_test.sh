#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# gdb_weft_test.sh GDB PROGRAM SCRIPT live|core — what tools/gdb/weft.py shows of the tasks that wait in a program.
set -euo pipefail
gdb=$1 program=$2 script=$3 view=$4

quiet=(-batch -nx -ex "set confirm off" -ex "set debuginfod enabled off" -ex "set pagination off")
look=(-ex "source $script" -ex "weft fibers" -ex "weft bt all" -ex "weft bt 7" -ex "weft bt none")
if [[ $view == core ]]; then
  # The kernel's: gdb's own generate-core-file leaves out mappings with guard pages in them, as those of stacks.
  place=$(mktemp --directory --tmpdir weft-core.XXXXXX)
  trap 'rm -rf "$place"' EXIT
  (cd "$place" && ulimit -c unlimited && "$program" --abort) >/dev/null 2>&1 || true
  core=$(find "$place" -name 'core*' -print -quit)
  if [[ -z $core ]]; then
    printf 'left out: this machine sends core files elsewhere: %s\n' "$(</proc/sys/kernel/core_pattern)"
    exit 77
  fi
  shown=$("$gdb" "${quiet[@]}" "${look[@]}" "$program" "$core" 2>&1) || true # the last command is a wrong one
else
  shown=$("$gdb" "${quiet[@]}" -ex "break look_here" -ex run "${look[@]}" "$program" 2>&1) || true
fi

expect() {
  if ! grep -qE -- "$1" <<<"$shown"; then
    printf 'gdb does not show: %s\n\n%s\n' "$1" "$shown" >&2
    exit 1
  fi
}
expect "^task 0 'indexer': blocked on sleep, in 'DEFAULT', spawned at .*many_fibers.cpp:[0-9]+$"
expect "^task [0-9]+: blocked on sleep, in 'disk', spawned at .*many_fibers.cpp:[0-9]+$"
expect '^4 tasks$'
# The frames of the user's code, in their order, with lines and arguments.
calls=$(grep -oE '(wait_for_page|read_index) \([^)]*\) at .*many_fibers.cpp:[0-9]+' <<<"$shown" | grep -oE '^[a-z_]+' | tr '\n' ' ')
indexer='wait_for_page wait_for_page wait_for_page read_index '
if [[ $calls != "$indexer$indexer${indexer}wait_for_page " ]]; then
  printf 'the calls are: %s\n\n%s\n' "$calls" "$shown" >&2
  exit 1
fi
expect 'wait_for_page \(depth=(depth@entry=)?2\) at '
expect 'weft_fiber_base'
expect "^there is no task 7 now"
expect "^'none' is no task"
