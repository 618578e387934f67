#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# quota_test.sh PROBE v1|v2|affinity: how many workers a runtime has where the system lets its process use less than the whole machine.
#
# v1 is a control group of the kernel's, made for this test. v2 is files in a mount namespace of the test's own, since a kernel has one
# or the other. Where that cannot be done (no root, no such groups), the test is skipped.
set -euo pipefail

probe=$1
kind=$2
skip() {
  echo "skipped: $*"
  exit 77
}
check() {
  [[ $1 == "$2" ]] || {
    echo "expected '$2' $3, but it says '$1'"
    exit 1
  }
  echo "$2 $3"
}

two=$(nproc)
((two > 2)) && two=2

# Runs the probe in a subshell that `enter` has prepared, raises the quota while it runs, and lowers it again.
watch_quota() {
  local enter=$1 set_quota=$2 answer
  "$set_quota" 50000
  coproc told { "$enter" && exec "$probe"; }
  read -r answer <&"${told[0]}"
  check "$answer" "workers 1" "with half a processor"
  "$set_quota" 200000
  echo "$two" >&"${told[1]}"
  read -r answer <&"${told[0]}"
  check "$answer" "workers $two" "after it was raised to two"
  "$set_quota" 50000
  echo 1 >&"${told[1]}"
  read -r answer <&"${told[0]}"
  check "$answer" "workers 1" "after it was lowered again"
  # shellcheck disable=SC2154 # coproc sets it
  local pid=$told_PID
  eval "exec ${told[1]}>&-"
  wait "$pid"
}

case $kind in
  affinity)
    answer=$(taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$probe" </dev/null)
    check "$answer" "workers 1" "bound to one processor"
    ;;
  v1)
    [[ $(id -u) -eq 0 ]] || skip "only root makes control groups"
    mount=$(awk '$9 == "cgroup" || $8 == "cgroup" {print}' /proc/self/mountinfo | awk '$NF ~ /(^|,)cpu(,|$)/ {print $5}' | head -1)
    [[ -n $mount && -w $mount ]] || skip "no control groups of version 1 for processors"
    group=$mount/weft-test-$$
    mkdir "$group" 2>/dev/null || skip "cannot make a control group in $mount"
    trap 'rmdir "$group" 2>/dev/null || true' EXIT
    [[ -w $group/cpu.cfs_quota_us ]] || skip "this kernel keeps no quotas"
    echo 100000 >"$group/cpu.cfs_period_us"
    set_quota() { echo "$1" >"$group/cpu.cfs_quota_us"; }
    enter() { echo "$BASHPID" >"$group/cgroup.procs"; }
    watch_quota enter set_quota
    ;;
  v2)
    [[ $(id -u) -eq 0 ]] || skip "only root makes mount namespaces"
    if [[ -z ${WEFT_TEST_INSIDE:-} ]]; then
      unshare --mount true 2>/dev/null || skip "cannot make a mount namespace"
      WEFT_TEST_INSIDE=1 exec unshare --mount "$0" "$@"
    fi
    tree=$(mktemp -d)
    trap 'umount "$tree" 2>/dev/null; rmdir "$tree"' EXIT
    mount -t tmpfs weft-test "$tree"
    mkdir -p "$tree/groups/outer/inner"
    echo "max 100000" >"$tree/groups/outer/inner/cpu.max"
    echo "30 20 0:26 / $tree/groups rw,nosuid shared:4 - cgroup2 cgroup2 rw" >"$tree/mountinfo"
    echo "0::/outer/inner" >"$tree/cgroup"
    # Of the group around: all of the path counts.
    set_quota() { echo "$1 100000" >"$tree/groups/outer/cpu.max"; }
    enter() {
      mount --bind "$tree/mountinfo" "/proc/$BASHPID/mountinfo" && mount --bind "$tree/cgroup" "/proc/$BASHPID/cgroup"
    }
    watch_quota enter set_quota
    ;;
  *)
    echo "usage: quota_test.sh PROBE v1|v2|affinity" >&2
    exit 2
    ;;
esac
