// SPDX-License-Identifier: Apache-2.0
//
// D1 for rayon: the ten children of a node by joins of halves, as its parallel iterators do it. config.hpp says what is
// measured.

#[path = "../../support/program.rs"]
mod program;

use program::{elapsed_ns, fail, ns_per_round, parse, refuse, report};

const FAN_OUT: i64 = 10;

/// The sum of `count` children that stand side by side, each with so many leaves.
fn sum_of_children(first: i64, leaves: i64, count: i64) -> i64 {
    if count == 1 {
        return sum(first, leaves);
    }
    let half = count / 2;
    let (a, b) = rayon::join(
        || sum_of_children(first, leaves, half),
        || sum_of_children(first + half * leaves, leaves, count - half),
    );
    a + b
}

fn sum(first: i64, leaves: i64) -> i64 {
    match leaves {
        1 => first,
        _ => sum_of_children(first, leaves / FAN_OUT, FAN_OUT),
    }
}

fn main() {
    let options = parse();
    if options.workload != "D1" {
        refuse("unknown workload", &options.workload);
    }
    if !options.variant.is_empty() {
        refuse("unknown variant", &options.variant);
    }
    let leaves: i64 = if options.quick { 100_000 } else { 1_000_000 };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads as usize).build().unwrap();
    let ns = pool.install(|| {
        ns_per_round(&options, || {
            let mut value = 0;
            let taken = elapsed_ns(|| value = sum(0, leaves));
            if value != leaves * (leaves - 1) / 2 {
                fail(&format!("the sum is not {}", value));
            }
            taken
        })
    });
    report(ns / leaves as f64, "ns", "rayon", "");
}
