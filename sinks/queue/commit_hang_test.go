package queue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/item"
)

// hungLedger answers nothing.
type hungLedger struct{ Ledger }

func (hungLedger) PushItems(ctx context.Context, _ string, _ []item.Record) ([]item.PushAnswer, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A ledger that hangs does so for one push as for many: none of those who wait is kept longer because others wait, too.
func TestPushesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &queueLine{o: &Options{Ledger: hungLedger{}}}
		l.commits = l.newCommits()
		began := time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				p := &pushRecords{records: make([]item.Record, 1)}
				if err := l.commits.Do(t.Context(), p); err == nil || errors.Is(err, context.Canceled) {
					t.Errorf("a push ended with %v", err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took > 2*callTimeout {
			t.Errorf("the last push was told after %s", took)
		}
	})
}
