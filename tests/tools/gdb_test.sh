#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# gdb_test.sh GDB PROGRAM running|parked — what a debugger shows of fibers.
#
# running: a backtrace from inside a fiber ends at the fiber's base.
# parked:  with the three registers that a parked fiber's record holds, gdb unwinds it like any stack.
set -euo pipefail
gdb=$1 program=$2 view=$3

commands=(-ex "set confirm off" -ex "set debuginfod enabled off" -ex "break look_here" -ex run)
# shellcheck disable=SC2016 # the dollars are gdb's
if [[ $view == parked ]]; then
  # The record is look_here's first argument.
  case $(uname -m) in
    x86_64)
      commands+=(-ex 'set $record = (void**)$rdi' -ex 'set $sp = $record[0]' -ex 'set $rbp = $record[1]'
        -ex 'set $pc = $record[2]')
      ;;
    aarch64)
      commands+=(-ex 'set $record = (void**)$x0' -ex 'set $sp = $record[0]' -ex 'set $x29 = $record[1]'
        -ex 'set $pc = $record[2]')
      ;;
    *)
      echo "no registers known for $(uname -m)" >&2
      exit 1
      ;;
  esac
fi
output=$("$gdb" -nx -batch "${commands[@]}" -ex 'echo BACKTRACE\n' -ex bt -ex 'echo END\n' "$program" 2>&1) || true
echo "$output"
trace=$(sed -n '/BACKTRACE/,/END/p' <<<"$output")

expect() {
  grep -q -- "$1" <<<"$trace" || {
    echo "expected '$1' in the backtrace" >&2
    exit 1
  }
}

if [[ $view == running ]]; then
  expect 'look_here'
else
  expect 'pause'
  expect 'innermost'
  expect 'middle'
  expect 'outermost'
fi
expect 'weft_fiber_base'
# The base is the last frame, and gdb is content with that.
last=$(grep -E '^#[0-9]+' <<<"$trace" | tail -n 1)
[[ $last == *weft_fiber_base* ]] || {
  echo "the last frame is not the base: $last" >&2
  exit 1
}
if grep -qiE 'corrupt|Backtrace stopped|cannot access memory' <<<"$trace"; then
  echo "gdb complained about the stack" >&2
  exit 1
fi
