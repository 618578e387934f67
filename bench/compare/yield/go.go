// SPDX-License-Identifier: Apache-2.0
//
// B2 for Go: runtime.Gosched, with GOMAXPROCS at 1. config.hpp says what is measured.

package main

import (
	"fmt"
	"math"
	"runtime"
)

// A place that yields, `most` times or until it is told to stop; it returns how often.
type place func(most int64, stop *bool) int64

//go:noinline
func firstSite(most int64, stop *bool) (count int64) {
	for ; count < most && !*stop; count++ {
		runtime.Gosched()
	}
	return
}

//go:noinline
func secondSite(most int64, stop *bool) (count int64) {
	for ; count < most && !*stop; count++ {
		runtime.Gosched()
	}
	return
}

//go:noinline
func first3() { runtime.Gosched() }

//go:noinline
func first2() { first3() }

//go:noinline
func first1() { first2() }

//go:noinline
func second3() { runtime.Gosched() }

//go:noinline
func second2() { second3() }

//go:noinline
func second1() { second2() }

//go:noinline
func firstDeep(most int64, stop *bool) (count int64) {
	for ; count < most && !*stop; count++ {
		first1()
	}
	return
}

//go:noinline
func secondDeep(most int64, stop *bool) (count int64) {
	for ; count < most && !*stop; count++ {
		second1()
	}
	return
}

func main() {
	opts := parse()
	if opts.workload != "B2" {
		refuse("unknown workload", opts.workload)
	}
	if opts.threads != 1 {
		refuse("this workload runs on one thread, not on", fmt.Sprint(opts.threads))
	}
	var asking, answering place
	switch opts.variant {
	case "one site":
		asking, answering = firstSite, firstSite
	case "two sites":
		asking, answering = firstSite, secondSite
	case "deep":
		asking, answering = firstDeep, secondDeep
	default:
		refuse("unknown variant", opts.variant)
	}
	started, stop := false, false // one thread: no two goroutines run at a time
	answered := make(chan int64, 1)
	go func() {
		started = true
		answered <- answering(math.MaxInt64, &stop)
	}()
	for !started {
		runtime.Gosched()
	}
	asked := int64(0)
	ns := nsPerIteration(opts, func(count int64) { asked += asking(count, &stop) })
	stop = true
	// Every 61st time Go looks elsewhere first, and so one of the two may have a few turns more.
	if other := <-answered; math.Abs(float64(asked-other)) > 0.05*float64(asked) {
		fail(fmt.Sprintf("%d yields of one, %d of the other", asked, other))
	}
	report(ns/2, "ns")
}
