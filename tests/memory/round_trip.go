// SPDX-License-Identifier: BSD-2-Clause
// Memory of Go's heap, whose runtime calls the kernel by instructions of its own: registered, written by an
// HCA, given back and taken again.
package main

/*
long long round_trip_begin(long long at, long long bytes);
void round_trip_write(long long handle, int value);
void round_trip_end(long long handle);
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"
)

const bytes = 192 * 1024
const rounds = 60

func expect(all []byte, value byte, what string) {
	for i, each := range all {
		if each != value {
			fmt.Println("wrong:", what, "at", i)
			os.Exit(1)
		}
	}
}

func main() {
	var stop atomic.Bool
	go func() { // Another thread that allocates meanwhile.
		for !stop.Load() {
			expect(make([]byte, bytes), 0, "a fresh slice")
		}
	}()
	for round := 0; round < rounds; round++ {
		memory := make([]byte, bytes)
		expect(memory, 0, "a fresh slice")
		for i := range memory {
			memory[i] = 1
		}
		handle := C.round_trip_begin(C.longlong(uintptr(unsafe.Pointer(&memory[0]))), bytes)
		C.round_trip_write(handle, C.int(2+round))
		runtime.GC()
		expect(memory, byte(2+round), "what the HCA wrote")
		C.round_trip_end(handle)
		expect(memory, byte(2+round), "what was deregistered")
		memory = nil
		debug.FreeOSMemory() // MADV_DONTNEED, by an instruction.
	}
	stop.Store(true)
	fmt.Println("round trips:", rounds)
}
