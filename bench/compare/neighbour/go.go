// SPDX-License-Identifier: Apache-2.0
//
// R3 for Go: goroutines, which are made to give way after 10 ms. config.hpp says what is measured.

package main

import (
	"fmt"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

//go:noinline
func computed() uint64 {
	x := uint64(1)
	for i := 0; i < 40_000_000; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func main() {
	opts := parse()
	if opts.workload != "R3" {
		refuse("unknown workload", opts.workload)
	}
	if opts.variant != "median" && opts.variant != "worst" {
		refuse("unknown variant", opts.variant)
	}
	length := 1000 * time.Millisecond
	if opts.quick {
		length = 300 * time.Millisecond
	}
	tasks, expected := 2*opts.threads, computed()
	end := time.Now().Add(length)
	var pieces atomic.Int64
	var ended sync.WaitGroup
	ended.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			for again := true; again; again = time.Now().Before(end) {
				if computed() != expected {
					fail("something else was computed than before")
				}
				pieces.Add(1)
				runtime.Gosched()
			}
			ended.Done()
		}()
	}

	late := []time.Duration{}
	for time.Now().Before(end) {
		due := time.Now().Add(time.Millisecond)
		time.Sleep(time.Until(due))
		late = append(late, time.Since(due))
		if late[len(late)-1] < 0 {
			fail("it was woken too early")
		}
	}
	ended.Wait()
	if len(late) == 0 {
		fail("it was never woken")
	}
	if pieces.Load() < int64(tasks) {
		fail(fmt.Sprintf("only %d pieces were computed", pieces.Load()))
	}
	sort.Slice(late, func(i, j int) bool { return late[i] < late[j] })
	asked := late[len(late)/2]
	if opts.variant == "worst" {
		asked = late[len(late)-1]
	}
	reportWithNote(1e-3*float64(asked.Nanoseconds()), "us", fmt.Sprintf("woken %d times", len(late)))
}
