package preview_test

import (
	"testing"
	"time"

	"tallyman/rules/row"
)

// A notice becomes an item of a queue. Its resolution withdraws the item.
func TestWork(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, "deliver: [{sink: inbox}]", "deliver: [{sink: work}]")
	low := [][]row.Value{stock("A", "S1", "-3")}
	fires := site{rows: low}
	is(t, "notices", noticesOf(fires.preview(t, rule).Report), `
firing 3 Bin A is at -3 > work  makes an item, unless the queue still has an item of the finding
`)
	resolves := site{ledger: after(t, rule, stockColumns, due.Add(-5*time.Minute), low)}
	is(t, "notices", noticesOf(resolves.preview(t, rule).Report), `
resolved 3 Resolved: Bin A is at -3 > work  removes the item, unless a worker holds it
`)
}
