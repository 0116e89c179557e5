package sqlite

import (
	"testing"

	"tallyman/internal/ledger/ledgertest"
)

func TestQueriesAreUsed(t *testing.T) {
	t.Parallel()
	ledgertest.QueriesAreUsed(t, queries)
}
