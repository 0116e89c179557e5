package postgres_test

import (
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/postgres"
)

// Looking at a ledger works beside the nodes and changes nothing.
func TestOpenReadOnly(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	node := open(t, url, ledger.Options{})
	prepare(t, node)
	c, err := node.Claim(t.Context(), "r", "", at(1), "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.Commit(t.Context(), c, commitOf(c, 1, 3)); err != nil {
		t.Fatal(err)
	}
	view, err := postgres.OpenReadOnly(t.Context(), url, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	list, err := view.Findings(t.Context(), "r", "")
	if err != nil || len(list) != 3 {
		t.Fatalf("%d findings, %v", len(list), err)
	}
	if _, err := view.Register(t.Context(), "new", "", at(0)); err == nil {
		t.Error("a rule was registered")
	}
	if err := view.SetSwitch(t.Context(), ledgertest.Ann, ledger.Switch{Rule: "r", Scope: ledger.Every, At: at(0)}); err == nil {
		t.Error("a rule was switched")
	}
	var _ ledger.View = view
}
