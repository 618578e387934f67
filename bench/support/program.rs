// SPDX-License-Identifier: Apache-2.0
//
// What every benchmark program in Rust shares; the same as program.hpp, which says why.

#![allow(dead_code)] // no program needs all of it

use std::time::Instant;

pub struct Options {
    pub workload: String,
    pub variant: String,
    pub threads: u32,
    pub quick: bool,
}

/// Ends the program because its command line asks for something it does not measure.
pub fn refuse(why: &str, value: &str) -> ! {
    eprintln!("{}: '{}'", why, value);
    std::process::exit(2)
}

/// Ends the program because what it measured came out wrong.
pub fn fail(what: &str) -> ! {
    eprintln!("wrong result: {}", what);
    std::process::exit(1)
}

/// Reads the command line; refuses anything but the four options.
pub fn parse() -> Options {
    let mut parsed = Options { workload: String::new(), variant: String::new(), threads: 1, quick: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--quick" {
            parsed.quick = true;
            continue;
        }
        if !["--workload", "--variant", "--threads"].contains(&name.as_str()) {
            refuse("unknown option", &name);
        }
        let value = arguments.next().unwrap_or_else(|| refuse("no value after option", &name));
        match name.as_str() {
            "--workload" => parsed.workload = value,
            "--variant" => parsed.variant = value,
            _ => match value.parse() {
                Ok(count) if count >= 1 => parsed.threads = count,
                _ => refuse("not a thread count", &value),
            },
        }
    }
    parsed
}

/// Prints the line the driver reads. An empty version lets it ask the package.
pub fn report(value: f64, unit: &str, system: &str, version: &str) {
    println!(
        "{{\"value\": {:.6}, \"unit\": \"{}\", \"system\": \"{}\", \"version\": \"{}\"}}",
        value, unit, system, version
    );
}

/// The same, with a remark that is shown beside the figure.
pub fn report_with_note(value: f64, unit: &str, system: &str, version: &str, note: &str) {
    println!(
        "{{\"value\": {:.6}, \"unit\": \"{}\", \"system\": \"{}\", \"version\": \"{}\", \"note\": \"{}\"}}",
        value, unit, system, version, note
    );
}

/// Nanoseconds one call of `body` takes.
pub fn elapsed_ns(body: impl FnOnce()) -> u64 {
    let start = Instant::now();
    body();
    start.elapsed().as_nanos() as u64
}

/// Nanoseconds one round takes, for a problem of a fixed size. round() works through the problem once, checks the
/// answer, and returns how long it took without the check. The first round does not count.
pub fn ns_per_round(options: &Options, mut round: impl FnMut() -> u64) -> f64 {
    let target: u64 = if options.quick { 80_000_000 } else { 500_000_000 };
    round();
    let (mut taken, mut rounds) = (0, 0);
    while taken < target {
        taken += round();
        rounds += 1;
    }
    taken as f64 / rounds as f64
}

/// Nanoseconds one iteration takes, where body(n) performs n of them: one timed run, after ever longer ones to find
/// out how many it takes.
pub fn ns_per_iteration(options: &Options, mut body: impl FnMut(u64)) -> f64 {
    ns_per_timed_iteration(options, |count| elapsed_ns(|| body(count)))
}

/// The same for a body that takes the time itself, and returns it.
pub fn ns_per_timed_iteration(options: &Options, mut body: impl FnMut(u64) -> u64) -> f64 {
    let target: u64 = if options.quick { 250_000_000 } else { 500_000_000 };
    let mut count: u64 = 64;
    let mut taken = body(count);
    while taken < target / 16 {
        count *= 4;
        taken = body(count);
    }
    if taken < target {
        count = count * (16 * target / taken) / 16;
    }
    body(count) as f64 / count as f64
}
