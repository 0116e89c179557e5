package app

import (
	"testing"

	"tallyman/docs/codetest"
	"tallyman/internal/ledger"
)

// The documentation quotes the refusal of a contract step.
func TestAContractStepWhileOldNodesLive(t *testing.T) {
	t.Parallel()
	err := oldNodes(102, []ledger.Node{{Name: "wms-1", Version: "0.1.0"}, {Name: "wms-2", Version: "0.1.0"}})
	codetest.Outcome(t, "../../docs/reference/error-codes.md", "The ledger", "ledger_old_nodes", err.Error()+"\n")
}
