package queue

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tallyman/internal/item"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// countingSubjects counts how often the ledger is asked for the items of findings.
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

// The items that a resolution may remove are read in parts, also if their payloads are large. Ended items are not among
// them.
func TestManyLargeItemsAreReadInParts(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, nil)
	var ids []string
	for i := range 150 {
		one := item.New{ID: fmt.Sprintf("i%d", i), Payload: []byte(`"` + strings.Repeat("x", i%3*30_000) + `"`)}
		n.mustPush(t, one)
		ids = append(ids, one.ID)
	}
	n.mustDo(t, item.Op{Kind: item.Finish, ID: "i2"}, item.OK)
	got, _, err := n.values(t.Context(), n.line(false), ids)
	if err != nil || len(got) != len(ids) {
		t.Fatalf("%d items, %v", len(got), err)
	}
	for i, one := range got {
		if want := i%3*30_000 + 2; i != 2 && (one.ID != ids[i] || len(one.Payload) != want) || i == 2 && one.ID != "" {
			t.Errorf("%s came as %q with %d bytes, want %d", ids[i], one.ID, len(one.Payload), want)
		}
	}
}
