// SPDX-License-Identifier: Apache-2.0
//
// I for Go: goroutines, time.Sleep and a WaitGroup. config.hpp says what is measured.

package main

import (
	"fmt"
	"sync"
	"syscall"
	"time"
)

func sleepOf(i uint64, longest time.Duration) time.Duration {
	x := (i + 1) * 0x9E3779B97F4A7C15
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
	x = (x ^ (x >> 27)) * 0x94D049BB133111EB
	x ^= x >> 31
	return time.Duration(x % uint64(longest))
}

func cpuTime() time.Duration {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func main() {
	opts := parse()
	if opts.workload != "I" {
		refuse("unknown workload", opts.workload)
	}
	if opts.variant != "wall" && opts.variant != "CPU" {
		refuse("unknown variant", opts.variant)
	}
	fibers, longest := uint64(1_000_000), 1000*time.Millisecond
	if opts.quick {
		fibers, longest = 200_000, 200*time.Millisecond
	}
	longestOfAll := time.Duration(0)
	for i := uint64(0); i < fibers; i++ {
		if sleep := sleepOf(i, longest); sleep > longestOfAll {
			longestOfAll = sleep
		}
	}

	cpuBefore, start := cpuTime(), time.Now()
	var wait sync.WaitGroup
	wait.Add(int(fibers))
	for i := uint64(0); i < fibers; i++ {
		sleep := sleepOf(i, longest)
		go func() {
			time.Sleep(sleep)
			wait.Done()
		}()
	}
	wait.Wait()
	wall, cpu := time.Since(start), cpuTime()-cpuBefore
	if wall < longestOfAll {
		fail(fmt.Sprintf("all have slept after %v", wall))
	}
	if opts.variant == "CPU" {
		report(cpu.Seconds(), "s")
	} else {
		report(wall.Seconds(), "s")
	}
}
