// SPDX-License-Identifier: Apache-2.0
//
// B2 for tokio: yield_now() in two tasks of the runtime for one thread. config.hpp says what is measured.

#[path = "../../support/program.rs"]
mod program;

use program::{fail, ns_per_timed_iteration, parse, refuse, report, Options};
use std::arch::asm;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;
use tokio::task::yield_now;

/// Makes functions that look alike differ, so that they do not become one.
macro_rules! keep_apart {
    ($site:ident) => {
        // Safety: there are no instructions.
        unsafe { asm!(concat!("/* ", stringify!($site), " */"), options(nostack)) }
    };
}

/// A place that yields, `most` times or until it is told to stop; it returns how often.
macro_rules! site {
    ($name:ident, $yield:path) => {
        async fn $name(most: u64, stop: Arc<AtomicBool>) -> u64 {
            let mut count = 0;
            while count < most && !stop.load(Ordering::Relaxed) {
                $yield().await;
                keep_apart!($name);
                count += 1;
            }
            count
        }
    };
}

macro_rules! frame {
    ($name:ident, $below:path) => {
        async fn $name() {
            $below().await;
            keep_apart!($name);
        }
    };
}

site!(first_site, yield_now);
site!(second_site, yield_now);
frame!(first3, yield_now);
frame!(first2, first3);
frame!(first1, first2);
frame!(second3, yield_now);
frame!(second2, second3);
frame!(second1, second2);
site!(first_deep, first1);
site!(second_deep, second1);

/// Starts both tasks again for each number of round trips; the one that asks takes the time while both run.
fn measure<A, B>(
    options: &Options,
    asking: impl Fn(u64, Arc<AtomicBool>) -> A + Copy + Send + Sync + 'static,
    answering: impl Fn(u64, Arc<AtomicBool>) -> B + Copy + Send + Sync + 'static,
) -> f64
where
    A: Future<Output = u64> + Send + 'static,
    B: Future<Output = u64> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    ns_per_timed_iteration(options, |count| {
        let stop = Arc::new(AtomicBool::new(false));
        let other_stop = stop.clone();
        let (start, started) = oneshot::channel();
        let other = runtime.spawn(async move {
            start.send(()).unwrap();
            answering(u64::MAX, other_stop).await
        });
        let one = runtime.spawn(async move {
            started.await.unwrap();
            let start = Instant::now();
            let asked = asking(count, stop.clone()).await;
            let taken = start.elapsed().as_nanos() as u64;
            stop.store(true, Ordering::Relaxed);
            (taken, asked)
        });
        let ((taken, asked), answered) = runtime.block_on(async { (one.await.unwrap(), other.await.unwrap()) });
        if asked != count || answered.abs_diff(asked) > 2 + asked / 100 {
            fail(&format!("{} yields of one, {} of the other", asked, answered));
        }
        taken
    })
}

fn main() {
    let options = parse();
    if options.workload != "B2" {
        refuse("unknown workload", &options.workload);
    }
    if options.threads != 1 {
        refuse("this workload runs on one thread, not on", &options.threads.to_string());
    }
    let ns = match options.variant.as_str() {
        "one site" => measure(&options, first_site, first_site),
        "two sites" => measure(&options, first_site, second_site),
        "deep" => measure(&options, first_deep, second_deep),
        other => refuse("unknown variant", other),
    };
    report(ns / 2.0, "ns", "tokio", "");
}
