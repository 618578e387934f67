// SPDX-License-Identifier: Apache-2.0
//
// C for rayon: a scope, in a pool of as many threads as are asked for.

#[path = "config.rs"]
mod config;
#[path = "../../support/program.rs"]
mod program;

use config::{trivial_child, working_child, Children};
use program::{elapsed_ns, ns_per_round, parse, report};
use std::sync::atomic::AtomicU8;

fn spawn_and_await(answers: &[AtomicU8], child: impl Fn(&AtomicU8) + Copy + Send + Sync) {
    rayon::scope(|scope| {
        for answer in answers {
            scope.spawn(move |_| child(answer));
        }
    });
}

fn main() {
    let options = parse();
    let all = Children::chosen(&options);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads as usize).build().unwrap();
    let ns = pool.install(|| {
        ns_per_round(&options, || {
            let taken = elapsed_ns(|| match all.works {
                true => spawn_and_await(&all.answers, working_child),
                false => spawn_and_await(&all.answers, trivial_child),
            });
            all.check_and_forget();
            taken
        })
    });
    report(ns / all.answers.len() as f64, "ns", "rayon", "");
}
