// SPDX-License-Identifier: Apache-2.0
//
// R1 for tokio: plain tasks that block, which its documentation warns of, since nobody takes the place of their
// threads; or spawn_blocking(). config.hpp says what is measured.

#[path = "../../support/program.rs"]
mod program;

use program::{fail, parse, refuse, report};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const BLOCKERS: usize = 100;
const CHILDREN: usize = 1_000;

fn block() {
    std::thread::sleep(Duration::from_millis(20));
}

async fn round(is_told: bool) -> Duration {
    let mut handles = Vec::with_capacity(BLOCKERS);
    let answered = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    for _ in 0..BLOCKERS {
        handles.push(match is_told {
            true => tokio::task::spawn_blocking(block),
            false => tokio::spawn(async { block() }),
        });
    }
    tokio::task::yield_now().await;
    for _ in 0..CHILDREN {
        let answered = answered.clone();
        let child = async move {
            answered.fetch_add(1, Ordering::Relaxed);
        };
        tokio::spawn(child).await.unwrap();
    }
    let taken = start.elapsed();
    for handle in handles {
        handle.await.unwrap();
    }
    if answered.load(Ordering::Relaxed) != CHILDREN {
        fail(&format!("{} of {} children have run", answered.load(Ordering::Relaxed), CHILDREN));
    }
    taken
}

fn main() {
    let options = parse();
    if options.workload != "R1" {
        refuse("unknown workload", &options.workload);
    }
    if options.variant != "plain" && options.variant != "told" {
        refuse("unknown variant", &options.variant);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(options.threads as usize).build().unwrap();
    let run_round = || runtime.block_on(runtime.spawn(round(options.variant == "told"))).unwrap();
    run_round();
    let length = Duration::from_millis(if options.quick { 250 } else { 500 });
    let (begin, mut taken, mut rounds) = (Instant::now(), Duration::ZERO, 0);
    while rounds == 0 || begin.elapsed() < length {
        taken += run_round();
        rounds += 1;
    }
    report(1e6 * taken.as_secs_f64() / (rounds * CHILDREN) as f64, "us", "tokio", "");
}
