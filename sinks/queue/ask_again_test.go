package queue

import (
	"slices"
	"testing"

	"tallyman/internal/item"
)

// A worker that stops while it waits does not know which items it was given. It asks again for no items, under the same
// request id, and gets that answer. Items that it was not given stay for others.
func TestARequestForWorkIsAskedAgainForNothing(t *testing.T) {
	t.Parallel()
	onAll(t, func(s site) {
		n := newNode(t, s.addr, newMemoryLedger())
		if got := n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w1"}, RequestID: "r0"}); len(got.Items) != 0 {
			t.Errorf("a request that was never made has %+v", got.Items)
		}
		n.mustPush(t, newItems(3, 3, "i")...)
		first := n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w1"}, RequestID: "r1", Max: 2})
		again := n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w1"}, RequestID: "r1"})
		if want := []string{"i1", "i2"}; !slices.Equal(idsOf(first.Items), want) || !slices.Equal(idsOf(again.Items), want) ||
			again.Items[0].Attempt != first.Items[0].Attempt {
			t.Errorf("first %+v, again %+v", first.Items, again.Items)
		}
		if got := n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w1"}, RequestID: "r2"}); len(got.Items) != 0 {
			t.Errorf("another request has %+v", got.Items)
		}
		n.mustDo(t, item.Op{Kind: item.Release, ID: "i1", Attempt: first.Items[0].Attempt}, item.OK)
		if got := n.ready(t); !slices.Equal(got, []string{"i1", "i3"}) {
			t.Errorf("ready are %v", got)
		}
	})
}
