// SPDX-License-Identifier: Apache-2.0
//
// E for Go: goroutines that wait for a channel to be closed. config.hpp says what is measured.

package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// memoryNow gives VmRSS and VmPTE, in bytes.
func memoryNow() (resident, pageTables int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail("/proc/self/status does not tell")
	}
	for _, line := range strings.Split(string(status), "\n") {
		fmt.Sscanf(line, "VmRSS: %d", &resident)
		fmt.Sscanf(line, "VmPTE: %d", &pageTables)
	}
	return resident * 1024, pageTables * 1024
}

//go:noinline
func useStack() byte {
	var bytes [32 * 1024]byte
	for i := 0; i < len(bytes); i += 64 {
		bytes[i] = byte(i)
	}
	return bytes[runtime.NumGoroutine()%len(bytes)]
}

func main() {
	opts := parse()
	if opts.threads != 1 {
		refuse("this workload runs on one thread, not on", fmt.Sprint(opts.threads))
	}
	count, afterUse := 1_000_000, false
	switch opts.workload + " " + opts.variant {
	case "E1 parked", "E2 ":
	case "E1 32 KB used":
		count, afterUse = 100_000, true
	default:
		refuse("unknown workload or variant", opts.workload+" "+opts.variant)
	}
	if opts.quick {
		count /= 10
	}

	waiting := 0 // one thread: no two goroutines run at a time
	end := make(chan struct{})
	var woken sync.WaitGroup
	woken.Add(count)
	residentBefore, tablesBefore := memoryNow()
	start := time.Now()
	for i := 0; i < count; i++ {
		go func() {
			if afterUse {
				useStack()
			}
			waiting++
			<-end
			woken.Done()
		}()
	}
	for waiting != count {
		runtime.Gosched()
	}
	taken := time.Since(start)
	if afterUse {
		for i := 0; i < 5; i++ { // a collection halves a stack that is too large
			debug.FreeOSMemory()
		}
	}
	resident, tables := memoryNow()
	if opts.workload == "E2" {
		report(float64(taken.Nanoseconds())/float64(count), "ns")
	} else {
		reportWithNote(float64(resident-residentBefore)/float64(count), "bytes",
			fmt.Sprintf("page tables %d bytes", (tables-tablesBefore)/int64(count)))
	}
	close(end)
	woken.Wait()
}
