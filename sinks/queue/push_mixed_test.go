package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tallyman/internal/item"
)

// Items with and without a dedupe key, delayed ones, and those that are there already take different ways through enqueue.lua:
// those of a level stay in their order all the same, and each answer belongs to its item.
func TestAPushOfAllKindsKeepsItsOrder(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.mustPush(t, newItems(1, 3, "old")...)
		n.mustPush(t, item.New{ID: "holder", Priority: 3, Payload: []byte(`1`), DedupeKey: "k0"})
		var items []item.New
		var order []string
		want := map[string]item.PushOutcome{}
		for i := range 40 {
			it := item.New{ID: fmt.Sprintf("i%02d", i), Priority: 1 + i%2, Payload: fmt.Appendf(nil, `%d`, i)}
			want[it.ID] = item.Pushed
			switch i % 5 {
			case 1:
				it.DedupeKey = fmt.Sprintf("k%d", i)
			case 2:
				it.DedupeKey, want[it.ID] = "k0", item.Duplicate
			case 3:
				it.Delay = time.Hour
			case 4:
				it.Priority = 2
			}
			if i == 35 {
				delete(want, it.ID)
				it.ID, want["old1"] = "old1", item.Exists
			}
			items = append(items, it)
		}
		results, err := n.Push(t.Context(), false, "tester", items)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.ID != items[i].ID || r.Outcome != want[r.ID] {
				t.Errorf("item %d is answered %+v, want %s %s", i, r, items[i].ID, want[items[i].ID])
			}
		}
		for _, priority := range []int{2, 1} {
			for _, it := range items {
				if it.Priority == priority && it.Delay == 0 && want[it.ID] == item.Pushed {
					order = append(order, it.ID)
				}
			}
		}
		order = append([]string{"old1", "holder"}, order...)
		if got := idsOf(n.mustLease(t, "w", 100)); !slices.Equal(got, order) {
			t.Errorf("they are served as %v, want %v", got, order)
		}
	})
}
