package queue

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// countingSubjects counts how often the ledger is asked what was made of findings.
type countingSubjects struct {
	*memoryLedger
	asked atomic.Int64
}

func (l *countingSubjects) SubjectItems(ctx context.Context, queue string, subjects []string) ([][]string, error) {
	l.asked.Add(1)
	return l.memoryLedger.SubjectItems(ctx, queue, subjects)
}

// When a wave ends, thousands of findings resolve in one moment.
func TestManyResolutionsAskTheLedgerOnce(t *testing.T) {
	t.Parallel()
	ledger := &countingSubjects{memoryLedger: newMemoryLedger()}
	n := newNode(t, testenv.Redis(t).Addr, ledger)
	var fired, resolved []*notice.Notice
	for i := range 300 {
		bin := fmt.Sprintf("A-%03d", i)
		fired = append(fired, fires(bin, 1, 0))
		if i > 0 {
			resolved = append(resolved, resolves(bin, 1))
		}
	}
	n.mustTake(t, fired...)
	n.mustTake(t, resolved...)
	inOrder(t, "what is left", n.ready(t), fired[0].ID)
	if asked := ledger.asked.Load(); asked != 1 {
		t.Errorf("the ledger was asked %d times", asked)
	}
}
