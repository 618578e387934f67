// SPDX-License-Identifier: Apache-2.0
//
// C for Go: goroutines and a WaitGroup. config.hpp says what is measured.

package main

import (
	"fmt"
	"sync"
	"time"
)

func worked() uint8 {
	x := uint64(1)
	for i := 0; i < 240; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return uint8(x>>56) | 1
}

func spawnAndAwait(answers []uint8, works bool) {
	var wait sync.WaitGroup
	wait.Add(len(answers))
	for i := range answers {
		answer := &answers[i]
		if works {
			go func() {
				*answer = worked()
				wait.Done()
			}()
		} else {
			go func() {
				*answer = 1
				wait.Done()
			}()
		}
	}
	wait.Wait()
}

func checkAndForget(answers []uint8, expected uint8) {
	for i := range answers {
		if answers[i] != expected {
			fail(fmt.Sprintf("child %d has not run", i))
		}
		answers[i] = 0
	}
}

func main() {
	opts := parse()
	if opts.workload != "C" {
		refuse("unknown workload", opts.workload)
	}
	children, quick, expected, works := 0, 0, uint8(1), false
	switch opts.variant {
	case "million":
		children, quick = 1_000_000, 100_000
	case "300 ns":
		children, quick, expected, works = 200_000, 50_000, worked(), true
	case "bursts":
		children, quick = 1_000, 1_000
	default:
		refuse("unknown variant", opts.variant)
	}
	if opts.quick {
		children = quick
	}
	answers := make([]uint8, children)
	ns := nsPerRound(opts, func() time.Duration {
		start := time.Now()
		spawnAndAwait(answers, works)
		taken := time.Since(start)
		checkAndForget(answers, expected)
		return taken
	})
	report(ns/float64(children), "ns")
}
