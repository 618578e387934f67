// SPDX-License-Identifier: Apache-2.0
//
// E for tokio: tasks that wait for a Notify, on the runtime of many threads with one worker. A task has no stack of its own
// that it could have used, so there is no `32 KB used`. config.hpp says what is measured.

#[path = "../../support/program.rs"]
mod program;

use program::{fail, parse, refuse, report, report_with_note};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// VmRSS and VmPTE, in bytes.
fn memory_now() -> (i64, i64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let bytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<i64>().unwrap() * 1024
    };
    (bytes("VmRSS:"), bytes("VmPTE:"))
}

async fn park_all(handles: &mut [Option<JoinHandle<()>>], end: &Arc<Notify>) {
    let waiting = Arc::new(AtomicUsize::new(0));
    for handle in handles.iter_mut() {
        let (waiting, end) = (waiting.clone(), end.clone());
        *handle = Some(tokio::spawn(async move {
            waiting.fetch_add(1, Ordering::Relaxed);
            end.notified().await;
        }));
    }
    while waiting.load(Ordering::Relaxed) != handles.len() {
        tokio::task::yield_now().await;
    }
}

fn main() {
    let options = parse();
    if options.threads != 1 {
        refuse("this workload runs on one thread, not on", &options.threads.to_string());
    }
    match (options.workload.as_str(), options.variant.as_str()) {
        ("E1", "parked") | ("E2", "") => {}
        _ => refuse("unknown workload or variant", &format!("{} {}", options.workload, options.variant)),
    }
    let count = if options.quick { 100_000 } else { 1_000_000 };
    let mut handles: Vec<Option<JoinHandle<()>>> = Vec::with_capacity(count);
    handles.resize_with(count, || None);
    let end = Arc::new(Notify::new());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (resident_before, tables_before) = memory_now();
    let start = Instant::now();
    let other_end = end.clone();
    let parent = runtime.spawn(async move {
        park_all(&mut handles, &other_end).await;
        handles
    });
    let handles = runtime.block_on(parent).unwrap();
    let taken = start.elapsed();
    let (resident, tables) = memory_now();
    let each = |bytes: i64| bytes as f64 / count as f64;
    if options.workload == "E2" {
        report(taken.as_nanos() as f64 / count as f64, "ns", "tokio", "");
    } else {
        let note = format!("page tables {:.0} bytes", each(tables - tables_before));
        report_with_note(each(resident - resident_before), "bytes", "tokio", "", &note);
    }
    end.notify_waiters();
    let woken = runtime.block_on(async {
        let mut woken = 0;
        for handle in handles {
            woken += handle.unwrap().await.is_ok() as usize;
        }
        woken
    });
    if woken != count {
        fail(&format!("only {} tasks have been woken", woken));
    }
}
