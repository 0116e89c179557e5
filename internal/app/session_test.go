package app

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/settings"
	"tallyman/internal/wire"
)

// The name of a node that has none is that of its host, as far as that can be one, and has nothing of the process in
// it.
func TestTheNameOfANodeIsThatOfItsHost(t *testing.T) {
	t.Parallel()
	name := hostName()
	if !settings.IsName(name) || name != hostName() {
		t.Fatalf("the name is %q", name)
	}
	if host, err := os.Hostname(); err == nil && settings.IsName(host) && len(host) <= longestName && name != host {
		t.Errorf("the name is %q on the host %q", name, host)
	}
	for host, want := range map[string]string{
		"wms-1": "wms-1", "wms_1.local": "wms_1.local", "-._x": "x", "wärehouse": "w-rehouse", "": "node", "…": "node", strings.Repeat("h", 70): strings.Repeat("h", 64),
	} {
		if got := nameOf(host); got != want || !settings.IsName(got) {
			t.Errorf("host %q makes the name %q, want %q", host, got, want)
		}
	}
}

// A node has the lanes of its own session, each sink once.
func TestLanesOfANode(t *testing.T) {
	t.Parallel()
	held := func(session, sink, warehouse string) ledger.HeldLane {
		return ledger.HeldLane{Lane: delivery.Lane{Sink: sink, Warehouse: warehouse}, Session: session}
	}
	lanes := []ledger.HeldLane{
		held("a/1", "inbox", "119240"), held("a/2", "inbox", "119241"), held("a/1", "inbox", "119242"), held("a/2", "picking", ""), held("a/1", "work", ""),
	}
	for session, want := range map[string][]wire.HeldLanes{
		"a/1": {{Sink: "inbox", Warehouses: []string{"119240", "119242"}}, {Sink: "work", Warehouses: []string{}}},
		"a/2": {{Sink: "inbox", Warehouses: []string{"119241"}}, {Sink: "picking", Warehouses: []string{}}},
		"b/1": {},
	} {
		if diff := cmp.Diff(want, heldBy(session, lanes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", session, diff)
		}
	}
}
