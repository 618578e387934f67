// SPDX-License-Identifier: Apache-2.0
//
// What every benchmark program in Go shares; the same as program.hpp, which says why.

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

type options struct {
	workload, variant string
	threads           int
	quick             bool
}

// refuse ends the program because its command line asks for something it does not measure.
func refuse(why, value string) {
	fmt.Fprintf(os.Stderr, "%s: '%s'\n", why, value)
	os.Exit(2)
}

// fail ends the program because what it measured came out wrong.
func fail(what string) {
	fmt.Fprintf(os.Stderr, "wrong result: %s\n", what)
	os.Exit(1)
}

// parse reads the command line, refuses anything but the four options, and takes as many threads as it says.
func parse() options {
	parsed := options{threads: 1}
	for i := 1; i < len(os.Args); i++ {
		name := os.Args[i]
		if name == "--quick" {
			parsed.quick = true
			continue
		}
		if name != "--workload" && name != "--variant" && name != "--threads" {
			refuse("unknown option", name)
		}
		if i++; i == len(os.Args) {
			refuse("no value after option", name)
		}
		switch name {
		case "--workload":
			parsed.workload = os.Args[i]
		case "--variant":
			parsed.variant = os.Args[i]
		default:
			count, err := strconv.Atoi(os.Args[i])
			if err != nil || count < 1 {
				refuse("not a thread count", os.Args[i])
			}
			parsed.threads = count
		}
	}
	runtime.GOMAXPROCS(parsed.threads)
	return parsed
}

// report prints the line the driver reads.
func report(value float64, unit string) {
	reportWithNote(value, unit, "")
}

// reportWithNote does the same, with a remark that is shown beside the figure.
func reportWithNote(value float64, unit, note string) {
	line, _ := json.Marshal(map[string]any{
		"value":   value,
		"unit":    unit,
		"system":  "Go",
		"version": strings.TrimPrefix(runtime.Version(), "go"),
		"note":    note,
	})
	fmt.Println(string(line))
}

// nsPerRound: nanoseconds one round takes, for a problem of a fixed size. round works through the problem once, checks
// the answer, and returns how long it took without the check. The first round does not count.
func nsPerRound(opts options, round func() time.Duration) float64 {
	target := 500 * time.Millisecond
	if opts.quick {
		target = 80 * time.Millisecond
	}
	round()
	taken, rounds := time.Duration(0), 0
	for ; taken < target; rounds++ {
		taken += round()
	}
	return float64(taken.Nanoseconds()) / float64(rounds)
}

// nsPerIteration: nanoseconds one iteration takes, where body(n) performs n of them: one timed run, after ever longer
// ones to find out how many it takes.
func nsPerIteration(opts options, body func(count int64)) float64 {
	target := int64(500_000_000)
	if opts.quick {
		target = 250_000_000
	}
	timed := func(count int64) int64 {
		start := time.Now()
		body(count)
		return time.Since(start).Nanoseconds()
	}
	count := int64(64)
	taken := timed(count)
	for taken < target/16 {
		count *= 4
		taken = timed(count)
	}
	if taken < target {
		count = count * (16 * target / taken) / 16
	}
	return float64(timed(count)) / float64(count)
}
