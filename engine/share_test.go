package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"tallyman/internal/ledger"
)

// presentNodes is a ledger with a list of live nodes.
type presentNodes struct {
	Ledger
	sessions []string
}

func (l presentNodes) Nodes(context.Context) ([]ledger.Node, error) {
	var list []ledger.Node
	for _, id := range l.sessions {
		list = append(list, ledger.Node{Session: id})
	}
	return list, nil
}

// firstNodes returns for each scope the node that does not wait.
func firstNodes(t *testing.T, scopes int, sessions ...string) []string {
	t.Helper()
	first := make([]string, scopes)
	for _, own := range sessions {
		var s share
		if err := s.look(t.Context(), presentNodes{sessions: sessions}, own); err != nil {
			t.Fatal(err)
		}
		for i := range first {
			if s.wait(fmt.Sprint(i)) > 0 {
				continue
			}
			if first[i] != "" {
				t.Fatalf("neither %s nor %s waits for scope %d", first[i], own, i)
			}
			first[i] = own
		}
	}
	if i := slices.Index(first, ""); i >= 0 {
		t.Fatalf("all nodes wait for scope %d", i)
	}
	return first
}

// TestNodesShareScopes: one node comes first for each scope, the shares of the nodes are about equal, and a node that
// joins or leaves moves only its own share.
func TestNodesShareScopes(t *testing.T) {
	t.Parallel()
	const scopes = 6000
	three := firstNodes(t, scopes, "wms-1/a1b2", "wms-1/a1b3", "wms-2/c1")
	shares := map[string]int{}
	for _, node := range three {
		shares[node]++
	}
	for node, n := range shares {
		if n < scopes/3*9/10 || n > scopes/3*11/10 {
			t.Errorf("%s has %d of %d scopes", node, n, scopes)
		}
	}
	two := firstNodes(t, scopes, "wms-1/a1b2", "wms-2/c1")
	for i := range three {
		if three[i] != two[i] && three[i] != "wms-1/a1b3" {
			t.Fatalf("scope %d went from %s to %s, and both are there before and after", i, three[i], two[i])
		}
	}
	if alone := firstNodes(t, scopes, "wms-2/c1"); alone[0] != "wms-2/c1" {
		t.Error("a node that is alone waits")
	}
}

func TestANodeThatKnowsNoOthersDoesNotWait(t *testing.T) {
	t.Parallel()
	var s share
	if s.wait("") != 0 {
		t.Error("it waits")
	}
}
