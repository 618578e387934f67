// SPDX-License-Identifier: Apache-2.0
//
// I for tokio: tasks and tokio::time::sleep, which counts in milliseconds. config.hpp says what is measured.

#[path = "../../support/program.rs"]
mod program;

use program::{fail, parse, refuse, report};
use std::time::{Duration, Instant};

fn sleep_of(i: u64, longest: Duration) -> Duration {
    let mut x = (i + 1).wrapping_mul(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D049BB133111EB);
    x ^= x >> 31;
    Duration::from_nanos(x % longest.as_nanos() as u64)
}

extern "C" {
    /// What this process has used of its processors so far, in microseconds, as POSIX has it.
    fn clock() -> std::os::raw::c_long;
}

fn cpu_seconds() -> f64 {
    // Safety: it has no arguments and may be called by anybody.
    1e-6 * unsafe { clock() } as f64
}

async fn sleep_all(fibers: u64, longest: Duration) {
    let mut handles = Vec::with_capacity(fibers as usize);
    for i in 0..fibers {
        let time = sleep_of(i, longest);
        handles.push(tokio::spawn(async move { tokio::time::sleep(time).await }));
    }
    for handle in handles {
        handle.await.unwrap();
    }
}

fn main() {
    let options = parse();
    if options.workload != "I" {
        refuse("unknown workload", &options.workload);
    }
    if options.variant != "wall" && options.variant != "CPU" {
        refuse("unknown variant", &options.variant);
    }
    let (fibers, longest) = match options.quick {
        true => (200_000, Duration::from_millis(200)),
        false => (1_000_000, Duration::from_millis(1000)),
    };
    let longest_of_all = (0..fibers).map(|i| sleep_of(i, longest)).max().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads as usize)
        .enable_time()
        .build()
        .unwrap();
    let (cpu_before, start) = (cpu_seconds(), Instant::now());
    let parent = runtime.spawn(sleep_all(fibers, longest));
    runtime.block_on(parent).unwrap();
    let (wall, cpu) = (start.elapsed(), cpu_seconds() - cpu_before);
    if wall < longest_of_all {
        fail(&format!("all have slept after {:?}", wall));
    }
    report(if options.variant == "CPU" { cpu } else { wall.as_secs_f64() }, "s", "tokio", "");
}
