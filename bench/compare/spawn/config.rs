// SPDX-License-Identifier: Apache-2.0
//
// C for systems in Rust: the same children as in config.hpp, which says what is measured.

use crate::program::{fail, refuse, Options};
use std::arch::asm;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;

/// The children of a round, each with a byte for its answer.
pub struct Children {
    pub answers: Arc<Vec<AtomicU8>>,
    pub works: bool,
}

fn worked() -> u8 {
    let mut x: u64 = 1;
    for _ in 0..240 {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        // Safety: there are no instructions.
        unsafe { asm!("/* {} */", inout(reg) x, options(nostack)) }
    }
    (x >> 56) as u8 | 1
}

pub fn trivial_child(answer: &AtomicU8) {
    answer.store(1, Ordering::Relaxed);
}

pub fn working_child(answer: &AtomicU8) {
    answer.store(worked(), Ordering::Relaxed);
}

impl Children {
    pub fn chosen(options: &Options) -> Children {
        if options.workload != "C" {
            refuse("unknown workload", &options.workload);
        }
        let (count, count_quick, works) = match options.variant.as_str() {
            "million" => (1_000_000, 100_000, false),
            "300 ns" => (200_000, 50_000, true),
            "bursts" => (1_000, 1_000, false),
            other => refuse("unknown variant", other),
        };
        let count = if options.quick { count_quick } else { count };
        Children { answers: Arc::new((0..count).map(|_| AtomicU8::new(0)).collect()), works }
    }

    pub fn check_and_forget(&self) {
        let expected = if self.works { worked() } else { 1 };
        let right = self.answers.iter().filter(|each| each.swap(0, Ordering::Relaxed) == expected).count();
        if right != self.answers.len() {
            fail(&format!("{} of {} children have run", right, self.answers.len()));
        }
    }
}
