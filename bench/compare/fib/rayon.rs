// SPDX-License-Identifier: Apache-2.0
//
// A for rayon: join(), in a pool of as many threads as are asked for. config.hpp says what is measured.

#[path = "../../support/program.rs"]
mod program;

use program::{elapsed_ns, fail, ns_per_round, parse, refuse, report};

fn fib(n: u32) -> i64 {
    if n < 2 {
        return n as i64;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn main() {
    let options = parse();
    if options.workload != "A" {
        refuse("unknown workload", &options.workload);
    }
    if options.variant != "plain" && options.variant != "native" {
        refuse("unknown variant", &options.variant);
    }
    let (n, right, calls) = if options.quick { (33, 3_524_578, 11_405_773) } else { (38, 39_088_169, 126_491_971) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads as usize).build().unwrap();
    let ns = pool.install(|| {
        ns_per_round(&options, || {
            let mut value = 0;
            let taken = elapsed_ns(|| value = fib(n));
            if value != right {
                fail(&format!("fib({}) is not {}", n, value));
            }
            taken
        })
    });
    report(ns / calls as f64, "ns", "rayon", "");
}
