package api_test

import (
	"strings"
	"testing"

	"tallyman/internal/ledger"
)

// TestGuessedIDs: an operator of one warehouse guesses ids of another. An existing id gets the same answer as an
// unknown one.
func TestGuessedIDs(t *testing.T) {
	t.Parallel()
	b := newBundle(asPeople, func(d *parts) { d.Rules = &fakeRules{scopes: twoScopes()} })
	mine, theirs := *bin().Notice, *bin().Notice
	mine.ID, mine.Warehouse, theirs.ID, theirs.Warehouse = "n_mine", "119240", "n_theirs", "119241"
	b.deliveries.traced = []ledger.NoticeTrace{{Notice: &mine}, {Notice: &theirs}}
	b.ask(t, []asking{
		{"site", "GET", "/notices/n_mine", "", 200, "n_mine"},
		{"site", "GET", "/deliveries/3", "", 200, `"id":3`},
		{"site", "GET", "/deliveries?notice=n_other", "", 200, `"deliveries":[]`}, // of 119241
		{"site", "POST", "/deliveries/retry", `{"ids":[3,4]}`, 404, "delivery_not_found"},
		{"site", "POST", "/deliveries/cancel", `{"ids":[3,4]}`, 404, "delivery_not_found"},
		{"site", "POST", "/deliveries/retry", `{"filter":{"notice":"n_other"}}`, 200, `"changed":0`},
		{"site", "POST", "/silences/s_stocktake/expire", "", 403, "warehouse_denied"}, // of more than its own
		{"site", "POST", "/silences/s_weekly/expire", "", 200, `"state":"expired"`},
	})
	for _, c := range []struct{ method, there, nowhere string }{
		{"GET", "/notices/n_theirs", "/notices/n_nobody"},
		{"GET", "/deliveries/4", "/deliveries/99"},
		{"POST", "/deliveries/4/retry", "/deliveries/99/retry"},
		{"POST", "/deliveries/4/cancel", "/deliveries/99/cancel"},
	} {
		there := b.handleBody(t, c.method, "/api/v1"+c.there, "", "Authorization", "Bearer site").asProblem(t)
		nowhere := b.handleBody(t, c.method, "/api/v1"+c.nowhere, "", "Authorization", "Bearer site").asProblem(t)
		if there.Status != 404 || there.Code != nowhere.Code || len(there.Detail) > len(nowhere.Detail) || strings.Contains(there.Detail, "119241") {
			t.Errorf("%s %s answers %+v, and %s %+v", c.method, c.there, there, c.nowhere, nowhere)
		}
		if got := b.handleBody(t, c.method, "/api/v1"+c.there, "", "Authorization", "Bearer admin"); got.status == 404 {
			t.Errorf("%s is not there at all: %s", c.there, got.body)
		}
	}
}

// TestKeysOfOthers has two systems send under the same Idempotency-Key: neither is answered with what the other has sent, nor told that the key
// was used.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	b := newBundle(asPeople)
	ids := map[string]bool{}
	for i, c := range []struct{ who, title string }{{"producer", "a"}, {"site", "a"}, {"admin", "b"}} {
		body := `{"notices":[{"type":"REP_NOTICE","warehouse":"119240","title":"` + c.title + `","recipients":["user:1"]}]}`
		for _, status := range []int{201, 200} {
			got := b.handleBody(t, "POST", "/api/v1/notices", body, "Authorization", "Bearer "+c.who, "Idempotency-Key", "order-1")
			if got.status != status {
				t.Errorf("%s: %d %s", c.who, got.status, got.body)
			}
			ids[got.body] = true
		}
		if len(ids) != i+1 {
			t.Errorf("the answers are %v", ids)
		}
	}
}
