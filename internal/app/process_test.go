package app_test

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"tallyman/internal/app"
)

// heapGoal is how large the heap may become before its garbage is collected.
func heapGoal() uint64 {
	for range 2 { // pools of before go with the second
		runtime.GC()
	}
	sample := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// The collector waits while a node runs, and an operator's own settings are left alone. It is a setting of the whole
// process, so that this test runs alone.
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
