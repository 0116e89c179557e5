package api_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// fakeDrain is the drain of a node with the name one.
type fakeDrain struct{ asked atomic.Bool }

func (d *fakeDrain) DrainForm() wire.DrainForm {
	if d.asked.Load() {
		since := sentAt
		return wire.DrainForm{Node: "one", State: wire.DrainRuns, Since: &since}
	}
	return wire.DrainForm{Node: "one", State: wire.DrainNone}
}

func (d *fakeDrain) AskDrain() { d.asked.Store(true) }

// A drain is recorded before it begins, and begins once. A node that another node's name reaches refuses it.
func TestDrain(t *testing.T) {
	t.Parallel()
	drain := &fakeDrain{}
	b := newBundle(func(p *parts) { p.Drain = drain })
	const path = "/api/v1/drain"
	ask := func(body string) answer {
		return b.handleBody(t, http.MethodPost, path, body, "Content-Type", "application/json")
	}
	if got := b.handleBody(t, http.MethodGet, path, ""); got.status != http.StatusOK || !strings.Contains(got.body, `{"node":"one","state":"in_service"}`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := ask(`{"node":"two"}`); got.status != http.StatusConflict || !strings.Contains(got.body, `"other_node"`) || drain.asked.Load() {
		t.Errorf("another node: %d %s", got.status, got.body)
	}
	b.audit.fail(errors.Join(ledger.ErrNotRecorded, errors.New("down")))
	if got := ask(`{"node":"one"}`); got.status != http.StatusServiceUnavailable || drain.asked.Load() {
		t.Errorf("without its record: %d %s", got.status, got.body)
	}
	b.audit.fail(nil)
	for range 2 {
		if got := ask(`{"node":"one"}`); got.status != http.StatusOK || !strings.Contains(got.body, `"state":"draining"`) || !drain.asked.Load() {
			t.Errorf("drain: %d %s", got.status, got.body)
		}
	}
	list := b.audit.all()
	if len(list) != 1 || list[0].Action != "node.drain" || list[0].Object != "node:one" || string(list[0].After) != `{"state":"draining"}` {
		t.Errorf("recorded: %+v", list)
	}
}
