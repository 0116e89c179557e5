package app

import (
	"os"
	"runtime"
)

// spareHeap is what the collector takes for live, and so waits for as much again: no page of it is ever touched, and none is resident.
const spareHeap = 64 << 20

// SpareHeap keeps the garbage collector from running all the time while little is live, until release is called: it begins at 128 MB, or
// where twice what is live is more. Where GOGC or GOMEMLIMIT is set, the operator has decided. See docs/adr/heap.md.
func SpareHeap() (release func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	spare := make([]byte, spareHeap)
	return func() { runtime.KeepAlive(spare) }
}
