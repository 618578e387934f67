// SPDX-License-Identifier: Apache-2.0
//
// L1 to L4 for crossbeam-deque: Worker and Stealer; and for the channel what its documentation puts together from
// them and an Injector (`find_task`). config.hpp says what is measured.

#[path = "../../support/program.rs"]
mod program;

use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use program::{ns_per_iteration, parse, refuse, Options};
use std::arch::asm;
use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
struct RawTask {
    run: usize,
    argument: usize,
    scope: usize,
}

const BURST: u64 = 64;
const STANDING: u64 = 64;
const THIEF_WORK: Duration = Duration::from_micros(10);

fn numbered(number: u64) -> RawTask {
    RawTask { run: 0, argument: number as usize * 8, scope: 0 }
}

/// Makes the compiler believe that the task is run.
fn run(task: RawTask) {
    // Safety: there are no instructions.
    unsafe { asm!("/* {} {} {} */", in(reg) task.run, in(reg) task.argument, in(reg) task.scope, options(nostack)) }
}

/// Puts `count` tasks in and takes them out again, a burst at a time.
fn in_and_out(count: u64, mut put: impl FnMut(RawTask), mut take: impl FnMut() -> Option<RawTask>) {
    let mut done = 0;
    while done < count {
        for i in 0..BURST {
            put(numbered(done + i));
        }
        for _ in 0..BURST {
            if let Some(task) = take() {
                run(task);
            }
        }
        done += BURST;
    }
}

fn owner(options: &Options) -> f64 {
    let worker = Worker::new_lifo();
    if options.variant == "last" {
        return ns_per_iteration(options, |count| {
            for i in 0..count {
                worker.push(numbered(i));
                if let Some(task) = worker.pop() {
                    run(task);
                }
            }
        });
    }
    for i in 0..STANDING {
        worker.push(numbered(i));
    }
    ns_per_iteration(options, |count| in_and_out(count, |task| worker.push(task), || worker.pop()))
}

fn thief_alone(options: &Options) -> f64 {
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    ns_per_iteration(options, |count| {
        in_and_out(count, |task| worker.push(task), || stealer.steal().success())
    })
}

fn owner_beside_thief(options: &Options) -> f64 {
    let worker = Worker::new_lifo();
    let stealer = worker.stealer();
    let done = Arc::new(AtomicBool::new(false));
    let thief = {
        let done = done.clone();
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                if let Steal::Success(task) = stealer.steal() {
                    run(task);
                    let until = Instant::now() + THIEF_WORK;
                    while Instant::now() < until {}
                }
            }
        })
    };
    for i in 0..STANDING {
        worker.push(numbered(i));
    }
    let cost = ns_per_iteration(options, |count| in_and_out(count, |task| worker.push(task), || worker.pop()));
    done.store(true, Ordering::Relaxed);
    thief.join().unwrap();
    cost
}

/// As in the documentation of crossbeam-deque.
fn find_task(local: &Worker<RawTask>, global: &Injector<RawTask>, stealers: &[Stealer<RawTask>]) -> Option<RawTask> {
    local.pop().or_else(|| {
        iter::repeat_with(|| {
            global.steal_batch_and_pop(local).or_else(|| stealers.iter().map(|s| s.steal()).collect())
        })
        .find(|s| !s.is_retry())
        .and_then(|s| s.success())
    })
}

fn channel(options: &Options) -> f64 {
    let local = Worker::new_lifo();
    let other = Worker::new_lifo();
    let stealers = [local.stealer(), other.stealer()];
    let global = Injector::new();
    let receive = || find_task(&local, &global, &stealers);
    if options.variant == "local" {
        ns_per_iteration(options, |count| in_and_out(count, |task| local.push(task), receive))
    } else {
        ns_per_iteration(options, |count| in_and_out(count, |task| global.push(task), receive))
    }
}

fn main() {
    let options = parse();
    if options.threads != if options.workload == "L3" { 2 } else { 1 } {
        refuse("not with so many threads", &options.workload);
    }
    let cost = match (options.workload.as_str(), options.variant.as_str()) {
        ("L1", "push-pop") | ("L1", "last") => owner(&options),
        ("L2", "asymmetric") | ("L2", "symmetric") => thief_alone(&options),
        ("L3", "asymmetric") | ("L3", "symmetric") => owner_beside_thief(&options),
        ("L4", "local") | ("L4", "outside") => channel(&options),
        _ => refuse("unknown workload or variant", &format!("{} {}", options.workload, options.variant)),
    };
    program::report(cost, "ns", "crossbeam", "");
}
