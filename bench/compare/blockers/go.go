// SPDX-License-Identifier: Apache-2.0
//
// R1 for Go: goroutines in system calls, whose threads are replaced; there is no way to say so before, and so the
// variants are the same. config.hpp says what is measured.

package main

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	blockers = 100
	children = 1_000
)

func block() {
	left := syscall.NsecToTimespec(20_000_000)
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}

func round() time.Duration {
	blocked, answered := make([]bool, blockers), 0
	var back sync.WaitGroup
	back.Add(blockers)
	done := make(chan struct{})
	start := time.Now()
	for i := range blocked {
		mine := &blocked[i]
		go func() {
			block()
			*mine = true
			back.Done()
		}()
	}
	runtime.Gosched()
	for i := 0; i < children; i++ {
		go func() {
			answered++
			done <- struct{}{}
		}()
		<-done
	}
	taken := time.Since(start)
	back.Wait()
	for i := range blocked {
		if !blocked[i] {
			fail(fmt.Sprintf("blocker %d has not come back", i))
		}
	}
	if answered != children {
		fail(fmt.Sprintf("%d of %d children have run", answered, children))
	}
	return taken
}

func main() {
	opts := parse()
	if opts.workload != "R1" {
		refuse("unknown workload", opts.workload)
	}
	if opts.variant != "plain" && opts.variant != "told" {
		refuse("unknown variant", opts.variant)
	}
	round()
	length := 500 * time.Millisecond
	if opts.quick {
		length = 250 * time.Millisecond
	}
	end := time.Now().Add(length)
	taken, rounds := time.Duration(0), 0
	for ; rounds == 0 || time.Now().Before(end); rounds++ {
		taken += round()
	}
	report(1e-3*float64(taken.Nanoseconds())/float64(rounds*children), "us")
}
