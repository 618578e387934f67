// SPDX-License-Identifier: Apache-2.0
//
// R2 for tokio: a Notify for each task, and one for whoever asks. config.hpp says what is measured.

#[path = "../../support/program.rs"]
mod program;

use program::{fail, ns_per_timed_iteration, parse, refuse, report};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

const WAITERS: usize = 1_000;

/// A Notify orders what is written before it, so that relaxed is enough for the rest.
struct Waiters {
    bells: Vec<Notify>,
    turns: Vec<AtomicU64>,
    answer: Notify,
    answered: AtomicUsize,
    is_over: AtomicBool,
}

async fn take_turns(all: Arc<Waiters>, i: usize) {
    loop {
        all.bells[i].notified().await;
        if all.is_over.load(Ordering::Relaxed) {
            return;
        }
        all.turns[i].store(all.turns[i].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        all.answered.store(i, Ordering::Relaxed);
        all.answer.notify_one();
    }
}

/// Asks so many, and returns how long it took and who is next.
async fn ask(all: Arc<Waiters>, count: u64, mut next: usize) -> (u64, usize) {
    let start = Instant::now();
    for _ in 0..count {
        all.bells[next].notify_one();
        all.answer.notified().await;
        let who = all.answered.load(Ordering::Relaxed);
        if who != next {
            fail(&format!("{} was asked, {} has answered", next, who));
        }
        next = (next + 389) % WAITERS;
    }
    (start.elapsed().as_nanos() as u64, next)
}

fn main() {
    let options = parse();
    if options.workload != "R2" {
        refuse("unknown workload", &options.workload);
    }
    if !options.variant.is_empty() {
        refuse("unknown variant", &options.variant);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(options.threads as usize).build().unwrap();
    let all = Arc::new(Waiters {
        bells: (0..WAITERS).map(|_| Notify::new()).collect(),
        turns: (0..WAITERS).map(|_| AtomicU64::new(0)).collect(),
        answer: Notify::new(),
        answered: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    });
    let handles: Vec<_> = (0..WAITERS).map(|i| runtime.spawn(take_turns(all.clone(), i))).collect();

    let (mut asked, mut next) = (0, 0);
    let ns = ns_per_timed_iteration(&options, |count| {
        let (taken, then) = runtime.block_on(runtime.spawn(ask(all.clone(), count, next))).unwrap();
        asked += count;
        next = then;
        taken
    });

    all.is_over.store(true, Ordering::Relaxed);
    for bell in &all.bells {
        bell.notify_one();
    }
    for handle in handles {
        runtime.block_on(handle).unwrap();
    }
    let turns: Vec<u64> = all.turns.iter().map(|each| each.load(Ordering::Relaxed)).collect();
    let (sum, least, most) = (turns.iter().sum::<u64>(), *turns.iter().min().unwrap(), *turns.iter().max().unwrap());
    if sum != asked || most - least > 1 {
        fail(&format!("{} turns, {} to {} each, where {} were asked for", sum, least, most, asked));
    }
    report(ns / 1000.0, "us", "tokio", "");
}
