// SPDX-License-Identifier: Apache-2.0
//
// C for tokio: spawn() and the handles it gives, awaited in the order in which they were spawned, on the runtime of many
// threads. A task may borrow nothing, so each holds a count of the answers.

#[path = "config.rs"]
mod config;
#[path = "../../support/program.rs"]
mod program;

use config::{trivial_child, working_child, Children};
use program::{ns_per_round, parse, report};
use std::sync::atomic::AtomicU8;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinHandle;

/// One round, with the room for the handles given and given back.
async fn round(
    answers: Arc<Vec<AtomicU8>>,
    child: impl Fn(&AtomicU8) + Copy + Send + 'static,
    mut handles: Vec<JoinHandle<()>>,
) -> (u64, Vec<JoinHandle<()>>) {
    let start = Instant::now();
    for i in 0..answers.len() {
        let answers = answers.clone();
        handles.push(tokio::spawn(async move { child(&answers[i]) }));
    }
    for handle in handles.drain(..) {
        handle.await.unwrap();
    }
    (start.elapsed().as_nanos() as u64, handles)
}

fn main() {
    let options = parse();
    let all = Children::chosen(&options);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(options.threads as usize).build().unwrap();
    let mut handles = Some(Vec::with_capacity(all.answers.len()));
    let ns = ns_per_round(&options, || {
        let (answers, room) = (all.answers.clone(), handles.take().unwrap());
        let parent = match all.works {
            true => runtime.spawn(round(answers, working_child, room)),
            false => runtime.spawn(round(answers, trivial_child, room)),
        };
        let (taken, room) = runtime.block_on(parent).unwrap();
        handles = Some(room);
        all.check_and_forget();
        taken
    });
    report(ns / all.answers.len() as f64, "ns", "tokio", "");
}
