package ledgertest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/ledger"
)

// BenchmarkSends sends requests of one notice from eight senders at once, and of a thousand from one, and marks of the notices that
// come of it as read.
func BenchmarkSends(b *testing.B, l ledger.Ledger) {
	b.Helper()
	f := &fixture{Ledger: l, clock: newClock(time.Now())}
	f.subscribed(b)
	var last atomic.Int64
	request := func(n int) []ledger.NewNotice {
		list := make([]ledger.NewNotice, n)
		for i := range list {
			note := sentNotice(fmt.Sprintf("n_%016d", shuffled(int(last.Add(1)))))
			note.CreatedAt, note.ExpiresAt = time.Now(), time.Now().Add(time.Hour)
			list[i] = ledger.NewNotice{Notice: note, Sinks: []ledger.Target{inbox}}
		}
		return list
	}
	b.Run("one", func(b *testing.B) {
		b.SetParallelism(4) // of two processors
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := l.Send(b.Context(), request(1)); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("a thousand", func(b *testing.B) {
		for b.Loop() {
			_, err := l.Send(b.Context(), request(1000))
			noError(b, err)
		}
	})
	b.Run("marks", func(b *testing.B) {
		list := request(1)
		_, err := l.Send(b.Context(), list)
		noError(b, err)
		n := 0
		for b.Loop() {
			n++
			m := markOf(list[0].Notice.ID, fmt.Sprintf("user:%d", n), ledger.MarkRead)
			m.As = append(m.As, "user:1")
			noError(b, l.Mark(b.Context(), m))
		}
	})
}
