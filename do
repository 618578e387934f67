#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# do — everything one does with weft, by one word each. Works on a fresh Debian 12: what a command needs and
# the machine lacks is installed first (with sudo when not root), without asking.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
  cat <<'END'
usage: ./do COMMAND

  run                      build weft and take the tour: what it does, live, with figures
  test                     build the release and run all its tests (a few minutes)
  test PRESET...           the same for other builds: asan tsan aarch64 lto shared model boost clang ...
  test --full              everything: all builds, with long runs of the randomised tests where it matters, and lint
  bench [LETTERS] [...]    measure weft beside its peers; ./do bench --help tells more
  lint [--quick]           format, clang-tidy, layers, headers, docs, thread-local access, ELF notes;
                           --quick leaves out what takes long: clang-tidy
  fmt                      format the code
  doctor PROGRAM [...]     look through a program for locks, blocking calls and thread-local variables that its tasks
                           can reach; --run ARGS... also runs it, and proposes stack sizes
END
}

say() { printf '\n== %s\n' "$*"; }

fail() {
  printf 'do: %s\n' "$*" >&2
  exit 1
}

# need PACKAGE...: installs those Debian packages that are missing.
need() {
  local missing=() package
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "do: not a Debian system: make sure you have what these Debian packages hold: $*" >&2
    return
  fi
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == "install ok installed" ]] || missing+=("$package")
  done
  [[ ${#missing[@]} -eq 0 ]] && return
  local root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || fail "not root and no sudo: install these packages first: ${missing[*]}"
    root=(sudo -n)
  fi
  say "installing ${missing[*]}"
  # A list that is missing or old is the usual reason for a failure, so it is renewed first.
  "${root[@]}" apt-get update -qq || fail "apt-get update failed"
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    >/dev/null || fail "apt-get could not install ${missing[*]}"
}

build_packages=(g++ cmake ninja-build)
test_packages=("${build_packages[@]}" ccache googletest python3 gdb valgrind pkg-config spin)
lint_packages=("${build_packages[@]}" g++-aarch64-linux-gnu googletest libboost-context-dev python3 clang clang-tidy
  clang-format doxygen shellcheck git)

# What a build needs beyond test_packages.
packages_for() {
  case $1 in
    boost) echo libboost-context-dev ;;
    clang | clang-asan | clang-tsan | tidy) echo clang libclang-rt-14-dev ;;
    aarch64) echo g++-aarch64-linux-gnu qemu-user ;;
  esac
}

# What has been compiled before, in this clone or another one, is taken from ccache where that is installed. (In a build for
# clang-tidy nothing is compiled.) The sloppiness is what it asks for where headers are precompiled.
configure_and_build() {
  local preset=$1
  say "building ($preset)"
  if [[ $preset != tidy ]] && command -v ccache >/dev/null; then
    local -x CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 \
      CCACHE_SLOPPINESS=pch_defines,time_macros
  fi
  local output
  output=$(cmake --preset "$preset" 2>&1) || {
    printf '%s\n' "$output"
    fail "cmake could not configure the $preset build"
  }
  cmake --build --preset "$preset"
}

do_run() {
  need "${build_packages[@]}" libboost-context-dev cargo librust-rayon-dev
  configure_and_build tour
  say "the tour"
  ./build/tour/examples/tour/weft_tour "$@"
}

# Names the presets that have tests, one a line.
test_presets() { sed -n '/"testPresets"/,$s/.*"name": "\([a-z0-9-]*\)".*/\1/p' CMakePresets.json | grep -vx base; }

test_preset() {
  local preset=$1
  # shellcheck disable=SC2046 # several words on purpose
  need "${test_packages[@]}" $(packages_for "$preset")
  configure_and_build "$preset"
  say "testing ($preset)"
  # Whether the models notice each weakened memory order is asked in the long runs only.
  local without=(--label-exclude mutants)
  [[ -z ${WEFT_TEST_LONG:-} ]] || without=()
  ctest --preset "$preset" "${without[@]}"
}

do_test() {
  local presets=() known argument
  known=$(test_presets)
  for argument in "$@"; do
    case $argument in
      --full)
        [[ $# -eq 1 ]] || fail "--full stands alone: it tests everything"
        do_test_full
        return
        ;;
      -*) fail "unknown option $argument: ./do test takes --full, or names of builds" ;;
      *)
        grep -qx -- "$argument" <<<"$known" || fail "unknown build '$argument'; there are: $(tr '\n' ' ' <<<"$known")"
        presets+=("$argument")
        ;;
    esac
  done
  [[ ${#presets[@]} -ne 0 ]] || presets=(release)
  for argument in "${presets[@]}"; do test_preset "$argument"; done
  say "all tests passed: ${presets[*]}"
}

do_test_full() {
  local preset
  for preset in $(test_presets); do
    case $preset in
      coverage) ;;
      # Randomised tests repeat themselves many times where they look for a rare order of events, and for what it breaks.
      release | asan | tsan) WEFT_TEST_LONG=1 test_preset "$preset" ;;
      *) test_preset "$preset" ;;
    esac
  done
  do_lint
  say "all builds passed"
}

do_bench() {
  need "${build_packages[@]}" python3
  configure_and_build bench
  python3 bench/run.py --programs build/bench/bench --install-cmd "$PWD/do install-peers" "$@"
}

# Called by the benchmark driver for peers that are missing: installs them and builds their programs.
do_install_peers() {
  need "$@"
  configure_and_build bench
}

do_lint() {
  need "${lint_packages[@]}"
  configure_and_build release
  say "configuring (tidy)"
  cmake --preset tidy >/dev/null
  # clang-tidy reads generated headers, so those must exist; nothing else is built.
  say "lint"
  local -a steps=()
  if [[ ${1-} == --quick ]]; then
    shift
    steps=(--only 'selftest,format,shell,python,layers,headers,docs,examples,tls,notes')
  fi
  tools/lint/run --archive build/release/libweft.a --tidy-db build/tidy --include build/release/generated/include \
    "${steps[@]}" "$@"
}

do_fmt() {
  need clang-format git
  tools/lint/run --fix-format
}

do_doctor() {
  need python3 binutils
  python3 tools/doctor/doctor.py "$@"
}

command=${1:-}
[[ $# -gt 0 ]] && shift
case $command in
  run) do_run "$@" ;;
  test) do_test "$@" ;;
  bench) do_bench "$@" ;;
  lint) do_lint "$@" ;;
  fmt) do_fmt "$@" ;;
  doctor) do_doctor "$@" ;;
  install-peers) do_install_peers "$@" ;;
  "" | help | -h | --help) usage ;;
  *)
    usage >&2
    fail "unknown command '$command'"
    ;;
esac
