// SPDX-License-Identifier: Apache-2.0
//
// Q2 for queues in Rust: the same contest as in config.hpp, which says what is measured.

use crate::program::{ns_per_iteration, parse, refuse, report};
use std::arch::asm;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

const WINDOW: usize = 4096;
const BURST: u64 = 64;
const MOST_AT_A_TIME: usize = 32;

#[repr(align(64))]
pub struct Item {
    number: UnsafeCell<u64>,
}

/// A pointer to an item, which belongs to whoever has taken it out of the queue.
#[derive(Clone, Copy)]
pub struct Word(*const Item);
unsafe impl Send for Word {}

impl Word {
    fn read(self) {
        // Safety: the queue has ordered the write before; and there are no instructions.
        unsafe { asm!("/* {} */", in(reg) *(*self.0).number.get(), options(nostack)) }
    }
}

/// A queue under test.
pub trait Queue: Send + Sync + 'static {
    /// What a thread needs to take from the queue.
    type Taker: Default;
    fn push(&self, word: Word);
    /// Calls f for up to `most` items; returns how many there were.
    fn take(&self, taker: &mut Self::Taker, most: usize, f: impl FnMut(Word)) -> usize;
}

struct Contest<Q> {
    queue: Q,
    items: Vec<Item>,
    taken: AtomicU64,
    stop: AtomicBool,
}
unsafe impl<Q: Sync> Sync for Contest<Q> {}
unsafe impl<Q: Send> Send for Contest<Q> {}

impl<Q: Queue> Contest<Q> {
    fn push(&self, number: u64) {
        let item = &self.items[number as usize % WINDOW];
        // Safety: the item is not in the queue: it was taken out a window ago.
        unsafe { *item.number.get() = number };
        self.queue.push(Word(item));
    }

    fn wait_for(&self, taken: u64) -> u64 {
        loop {
            let known = self.taken.load(Ordering::Acquire);
            if known >= taken {
                return known;
            }
        }
    }

    fn take_until_stopped(&self, most: usize) {
        let mut taker = Q::Taker::default();
        let mut taken = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let got = self.queue.take(&mut taker, most, Word::read);
            if got != 0 {
                taken += got as u64;
                self.taken.store(taken, Ordering::Release);
            }
        }
    }
}

/// Measures what the command line asks for.
pub fn run<Q: Queue>(queue: Q, system: &str) {
    let options = parse();
    if options.workload != "Q2" {
        refuse("unknown workload", &options.workload);
    }
    let batched = match options.variant.as_str() {
        "one" => false,
        "batch" => true,
        other => refuse("unknown variant", other),
    };
    let items = (0..WINDOW).map(|_| Item { number: UnsafeCell::new(0) }).collect();
    let field =
        Arc::new(Contest { queue, items, taken: AtomicU64::new(0), stop: AtomicBool::new(false) });
    let ns = match options.threads {
        1 => {
            let group = if batched { BURST } else { 1 };
            let mut taker = Q::Taker::default();
            ns_per_iteration(&options, |count| {
                let mut sent = 0;
                while sent < count {
                    for i in 0..group {
                        field.push(sent + i);
                    }
                    let mut taken = 0;
                    while taken < group {
                        taken += field.queue.take(&mut taker, group as usize, Word::read) as u64;
                    }
                    sent += group;
                }
            })
        }
        2 => {
            let most = if batched { MOST_AT_A_TIME } else { 1 };
            let other = field.clone();
            let taker = std::thread::spawn(move || other.take_until_stopped(most));
            let (mut sent, mut known_taken) = (0, 0);
            let ns = ns_per_iteration(&options, |count| {
                for _ in 0..count {
                    if sent - known_taken == WINDOW as u64 {
                        known_taken = field.wait_for(sent - WINDOW as u64 + 1);
                    }
                    field.push(sent);
                    sent += 1;
                }
                known_taken = field.wait_for(sent);
            });
            field.stop.store(true, Ordering::Relaxed);
            taker.join().unwrap();
            ns
        }
        more => refuse("this workload runs on one or two threads, not on", &more.to_string()),
    };
    report(ns, "ns", system, "");
}
