package app_test

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"tallyman/internal/app"
)

// heapGoal returns the size of the heap at which the next collection begins.
func heapGoal() uint64 {
	for range 2 { // pools of before go with the second
		runtime.GC()
	}
	sample := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// The collector waits while a node runs. An operator's own settings stay. The setting is global in the process, so this
// test runs alone.
func TestSpareHeap(t *testing.T) { //nolint:paralleltest // see above
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	const spared = 128 << 20
	before := heapGoal()
	release := app.SpareHeap()
	if goal := heapGoal(); goal < before+spared*9/10 {
		t.Errorf("the collector begins at %d bytes, before that at %d", goal, before)
	}
	release()
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // see above
			t.Setenv(name, "100")
			release := app.SpareHeap()
			if goal := heapGoal(); goal > before+spared/2 {
				t.Errorf("the collector begins at %d bytes, before that at %d", goal, before)
			}
			release()
		})
	}
}
