// SPDX-License-Identifier: Apache-2.0
//
// R3 for tokio: tasks and tokio::time::sleep_until, which counts in milliseconds. config.hpp says what is measured.

#[path = "../../support/program.rs"]
mod program;

use program::{fail, parse, refuse, report_with_note};
use std::arch::asm;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[inline(never)]
fn computed() -> u64 {
    let mut x: u64 = 1;
    for _ in 0..40_000_000 {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        // Safety: there are no instructions.
        unsafe { asm!("/* {} */", inout(reg) x, options(nostack)) }
    }
    x
}

struct Noise {
    tasks: usize,
    expected: u64,
    end: Instant,
    pieces: AtomicUsize,
}

async fn make(noise: Arc<Noise>) {
    loop {
        if computed() != noise.expected {
            fail("something else was computed than before");
        }
        noise.pieces.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        if Instant::now() >= noise.end {
            return;
        }
    }
}

/// How late it was, each time.
async fn watch(noise: Arc<Noise>) -> Vec<Duration> {
    let handles: Vec<_> = (0..noise.tasks).map(|_| tokio::spawn(make(noise.clone()))).collect();
    let mut late = Vec::new();
    while Instant::now() < noise.end {
        let due = Instant::now() + Duration::from_millis(1);
        tokio::time::sleep_until(due.into()).await;
        match Instant::now().checked_duration_since(due) {
            Some(by) => late.push(by),
            None => fail("it was woken too early"),
        }
    }
    for handle in handles {
        handle.await.unwrap();
    }
    late
}

fn main() {
    let options = parse();
    if options.workload != "R3" {
        refuse("unknown workload", &options.workload);
    }
    if options.variant != "median" && options.variant != "worst" {
        refuse("unknown variant", &options.variant);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads as usize)
        .enable_time()
        .build()
        .unwrap();
    let length = Duration::from_millis(if options.quick { 300 } else { 1000 });
    let (tasks, expected) = (2 * options.threads as usize, computed());
    let noise = Arc::new(Noise { tasks, expected, end: Instant::now() + length, pieces: AtomicUsize::new(0) });
    let mut late = runtime.block_on(runtime.spawn(watch(noise.clone()))).unwrap();
    if noise.pieces.load(Ordering::Relaxed) < tasks {
        fail(&format!("only {} pieces were computed", noise.pieces.load(Ordering::Relaxed)));
    }
    if late.is_empty() {
        fail("it was never woken");
    }
    late.sort();
    let asked = if options.variant == "worst" { late[late.len() - 1] } else { late[late.len() / 2] };
    let note = format!("woken {} times", late.len());
    report_with_note(1e6 * asked.as_secs_f64(), "us", "tokio", "", &note);
}
