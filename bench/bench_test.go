package bench

import (
	"context"
	"fmt"
	"testing"

	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// cells are how the queues are used: how many in one call, from how many goroutines.
func cells() []cell {
	return []cell{{1, 1}, {1, 8}, {1, 10}, {1, 64}, {10, 1}, {10, 8}, {10, 64}, {100, 1}, {100, 8}, {100, 64}}
}

// BenchmarkPush has jobs come in while nobody takes any.
func BenchmarkPush(b *testing.B) {
	compare(b, "push", pushing,
		lists(), asynqOne(), asynqUnique(), viaRiver(), tallyman(), tallymanKeyed(), withLedger())
}

// BenchmarkWork has a backlog over all levels taken and acked while nothing comes in.
func BenchmarkWork(b *testing.B) {
	compare(b, "lease + ack", working,
		lists(), asynqOne(), asynqMany(), viaRiver(), tallyman(), withLedger())
}

// BenchmarkFlow has as many push as work.
func BenchmarkFlow(b *testing.B) {
	compare(b, "push + lease + ack", flowing,
		lists(), asynqOne(), asynqMany(), asynqUnique(), viaRiver(), tallyman(), tallymanKeyed(), withLedger(), withoutTrace())
}

// compare takes all contenders through a scenario in every cell, and prints the tables. An iteration is a round.
func compare(b *testing.B, title string, scenario func(context.Context, *run) sample, list ...contender) {
	b.Helper()
	s := newServers(b)
	res := newResults(list)
	for _, c := range cells() {
		b.Run(fmt.Sprintf("batch=%d/workers=%d", c.batch, c.workers), func(b *testing.B) {
			for round := 0; b.Loop(); round++ {
				for i := range list {
					k := list[(round+i)%len(list)] // nobody always comes first
					res.add(c, k.name, measure(b, s, k, c, scenario))
				}
			}
			b.ReportMetric(0, "ns/op")
			for _, r := range ratios() {
				if x, ok := res.ratio(c, r); ok {
					b.ReportMetric(x, r.unit)
				}
			}
		})
	}
	res.print(title)
}
