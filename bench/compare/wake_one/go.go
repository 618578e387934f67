// SPDX-License-Identifier: Apache-2.0
//
// R2 for Go: a channel for each goroutine, and one for the answers. config.hpp says what is measured.

package main

import (
	"fmt"
	"sync"
)

const waiters = 1_000

func main() {
	opts := parse()
	if opts.workload != "R2" {
		refuse("unknown workload", opts.workload)
	}
	if opts.variant != "" {
		refuse("unknown variant", opts.variant)
	}
	turns := make([]int64, waiters)
	bells := make([]chan struct{}, waiters)
	answers := make(chan int)
	var ended sync.WaitGroup
	ended.Add(waiters)
	for i := range bells {
		i := i
		bells[i] = make(chan struct{})
		go func() {
			for range bells[i] {
				turns[i]++
				answers <- i
			}
			ended.Done()
		}()
	}

	next, asked := 0, int64(0)
	ns := nsPerIteration(opts, func(count int64) {
		for i := int64(0); i < count; i++ {
			bells[next] <- struct{}{}
			if who := <-answers; who != next {
				fail(fmt.Sprintf("%d was asked, %d has answered", next, who))
			}
			next = (next + 389) % waiters
		}
		asked += count
	})

	for _, bell := range bells {
		close(bell)
	}
	ended.Wait()
	least, most, all := turns[0], turns[0], int64(0)
	for _, each := range turns {
		all += each
		if each < least {
			least = each
		}
		if each > most {
			most = each
		}
	}
	if all != asked || most-least > 1 {
		fail(fmt.Sprintf("%d turns, %d to %d each, where %d were asked for", all, least, most, asked))
	}
	report(ns/1000, "us")
}
