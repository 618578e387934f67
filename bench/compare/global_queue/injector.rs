// SPDX-License-Identifier: Apache-2.0
//
// Q2 for crossbeam's Injector, which is rayon's global queue: one at a time by steal(), or a batch into the taker's own
// deque, from which it is popped.

#[path = "contest.rs"]
mod contest;
#[path = "../../support/program.rs"]
mod program;

use contest::{Queue, Word};
use crossbeam_deque::{Injector, Steal, Worker};

struct Global(Injector<Word>);

struct Local(Worker<Word>);

impl Default for Local {
    fn default() -> Self {
        Local(Worker::new_fifo())
    }
}

impl Queue for Global {
    type Taker = Local;

    fn push(&self, word: Word) {
        self.0.push(word);
    }

    fn take(&self, local: &mut Local, most: usize, mut f: impl FnMut(Word)) -> usize {
        if most == 1 {
            return match self.0.steal() {
                Steal::Success(word) => {
                    f(word);
                    1
                }
                _ => 0,
            };
        }
        let mut count = 0;
        if let Steal::Success(word) = self.0.steal_batch_and_pop(&local.0) {
            f(word);
            count += 1;
        }
        while let Some(word) = local.0.pop() {
            f(word);
            count += 1;
        }
        count
    }
}

fn main() {
    contest::run(Global(Injector::new()), "Injector");
}
