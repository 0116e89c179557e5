package queue

import (
	"testing"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// endedIDs are the items that have ended as the state says.
func endedIDs(t testing.TB, n *node, state item.State) []string {
	t.Helper()
	page, err := n.List(t.Context(), item.Query{State: state, Limit: item.MaxBatch})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range page.Items {
		ids = append(ids, page.Items[i].ID)
	}
	return ids
}

// An item that has just ended is listed at once. Without Redis, the list has the items of the ledger.
func TestWhatHasJustEndedIsListed(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	n := newNode(t, r.Addr, newMemoryLedger())
	n.mustPush(t, newItems(20, 3, "i")...)
	for _, id := range []string{"i1", "i2", "i3", "i4", "i5"} {
		n.mustDo(t, item.Op{Kind: item.Remove, ID: id}, item.OK)
		if got := endedIDs(t, n, item.Removed); len(got) == 0 || got[0] != id {
			t.Fatalf("removed %s, listed are %v", id, got)
		}
	}
	r.Kill()
	inOrder(t, "listed without Redis", endedIDs(t, n, item.Removed), "i5", "i4", "i3", "i2", "i1")
}
