// SPDX-License-Identifier: Apache-2.0
//
// Q2 for crossbeam's SegQueue, an unbounded queue for many producers and many consumers. It gives out one at a time.

#[path = "contest.rs"]
mod contest;
#[path = "../../support/program.rs"]
mod program;

use contest::{Queue, Word};
use crossbeam_queue::SegQueue;

struct Seg(SegQueue<Word>);

impl Queue for Seg {
    type Taker = ();

    fn push(&self, word: Word) {
        self.0.push(word);
    }

    fn take(&self, _: &mut (), most: usize, mut f: impl FnMut(Word)) -> usize {
        let mut count = 0;
        while count < most {
            match self.0.pop() {
                Some(word) => f(word),
                None => break,
            }
            count += 1;
        }
        count
    }
}

fn main() {
    contest::run(Seg(SegQueue::new()), "SegQueue");
}
