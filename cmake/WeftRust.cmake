# SPDX-License-Identifier: Apache-2.0
#
# Programs in Rust, for the peers in benchmarks and in the tour. WEFT_BENCH_PROGRAMS says where they go.

# weft_bench_rust_program(NAME [NATIVE] SOURCE file.rs [WITH file.rs...] CRATES crate... [FEATURES feature...]): a program in
# Rust, by Debian's cargo from the crates that Debian's librust-*-dev packages hold; nothing is downloaded. WITH names the
# files that the source includes; the features are asked of each crate. Skipped with a message where something is missing.
set(WEFT_BENCH_CRATES "/usr/share/cargo/registry" CACHE PATH "Where the sources of Rust crates are installed")
function(weft_bench_rust_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NATIVE" "SOURCE" "WITH;CRATES;FEATURES")
  list(TRANSFORM arg_FEATURES REPLACE "(.+)" "\"\\1\"")
  list(JOIN arg_FEATURES ", " features)
  find_program(WEFT_BENCH_CARGO cargo PATHS /usr/bin NO_DEFAULT_PATH)
  find_program(WEFT_BENCH_RUSTC rustc PATHS /usr/bin NO_DEFAULT_PATH)
  set(dependencies "")
  foreach(crate IN LISTS arg_CRATES)
    file(GLOB found "${WEFT_BENCH_CRATES}/${crate}-[0-9]*")
    if(NOT found OR NOT WEFT_BENCH_CARGO OR NOT WEFT_BENCH_RUSTC)
      message(STATUS "bench: ${crate} or cargo not found (librust-${crate}-dev, cargo); ${name} is not built")
      return()
    endif()
    string(APPEND dependencies "${crate} = { version = \"*\", features = [${features}] }\n")
  endforeach()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/rust/${name}")
  set(crates "${CMAKE_CURRENT_BINARY_DIR}/rust/target") # one for all programs, so that each crate is built once
  set(flags "")
  if(arg_NATIVE)
    set(crates "${crates}_native")
    set(flags "-Ctarget-cpu=native")
  endif()
  get_filename_component(source "${arg_SOURCE}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  list(TRANSFORM arg_WITH PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  file(CONFIGURE OUTPUT "${folder}/Cargo.toml" CONTENT "[package]
name = \"@name@\"
version = \"0.0.0\"
edition = \"2021\"
[[bin]]
name = \"@name@\"
path = \"@source@\"
[profile.release]
lto = true
codegen-units = 1
[dependencies]
@dependencies@" @ONLY)
  file(CONFIGURE OUTPUT "${folder}/.cargo/config.toml" CONTENT "[source.crates-io]
replace-with = \"debian\"
[source.debian]
directory = \"@WEFT_BENCH_CRATES@\"
" @ONLY)
  add_custom_command(
    OUTPUT "${WEFT_BENCH_PROGRAMS}/${name}"
    COMMAND ${CMAKE_COMMAND} -E env "RUSTC=${WEFT_BENCH_RUSTC}" "CARGO_HOME=${folder}/home" "CARGO_TARGET_DIR=${crates}"
            "RUSTFLAGS=${flags}" ${WEFT_BENCH_CARGO} build --quiet --release --offline
    COMMAND ${CMAKE_COMMAND} -E copy "${crates}/release/${name}" "${WEFT_BENCH_PROGRAMS}/${name}"
    DEPENDS "${source}" ${arg_WITH} "${PROJECT_SOURCE_DIR}/bench/support/program.rs" "${folder}/Cargo.toml"
    WORKING_DIRECTORY "${folder}"
    COMMENT "Building ${name} by cargo"
    VERBATIM
  )
  add_custom_target(${name}_by_cargo ALL DEPENDS "${WEFT_BENCH_PROGRAMS}/${name}")
endfunction()
