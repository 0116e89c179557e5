package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/ledger"
)

// TestTypesByIDAndWarehousesAsNumbers: business systems know types by their ids, and warehouses are numbers to many of them.
func TestTypesByIDAndWarehousesAsNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, body := range []string{
		`{"type":"REP_NOTICE","warehouse":"119240","data":{"bin":"A"}}`, `{"typeId":124719,"warehouse":119240,"data":{"bin":"A"}}`,
		`{"type":124719,"warehouse":119240,"data":{"bin":"A"}}`, `{"type":"124719","typeId":124719,"warehouse":"119240","data":{"bin":"A"}}`,
	} {
		if got := b.send(t, body).Notice; got.Type != "REP_NOTICE" || got.TypeID != 124719 || got.Warehouse != "119240" {
			t.Errorf("%s makes a notice of %s (%d) in %s", body, got.Type, got.TypeID, got.Warehouse)
		}
	}
	for body, want := range map[string]string{
		`{"warehouse":"1","data":{"bin":"A"}}`:                                "body.notices[0].type: type or typeId is needed",
		`{"typeId":7,"warehouse":"1","data":{"bin":"A"}}`:                     `body.notices[0].type: the catalogue has no type "7"`,
		`{"type":"REP_NOTICE","typeId":7,"warehouse":"1","data":{"bin":"A"}}`: "body.notices[0].typeId: type and typeId are of different types",
		`{"type":1.5,"warehouse":"1","data":{"bin":"A"}}`:                     "body.notices[0].type: expected string",
		`{"type":"REP_NOTICE","warehouse":1e3,"data":{"bin":"A"}}`:            "body.notices[0].warehouse: expected string",
		`{"type":"REP_NOTICE","warehouse":"1","title":7,"data":{"bin":"A"}}`:  "body.notices[0].title: expected string",
	} {
		if got := b.do(t, http.MethodPost, "/api/v1/notices", `{"notices":[`+body+`]}`); !strings.Contains(got.body, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}

	const subs = "/api/v1/subscriptions"
	for _, body := range []string{`{"type":124719,"warehouse":119240,"subscriber":"user:1"}`, `{"type":"124719","warehouse":"119240","subscriber":"user:1"}`} {
		if got := b.do(t, http.MethodPost, subs, body); !strings.Contains(got.body, `"type":"REP_NOTICE","warehouse":"119240"`) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if got := b.do(t, http.MethodPost, subs+"/import", `{"subscriptions":[{"type":124719,"warehouse":119241,"subscriber":"user:1"}]}`); got.status != http.StatusOK {
		t.Errorf("an import: %d %s", got.status, got.body)
	}
	if got := b.get(t, subs+"?type=124719"); strings.Count(got.body, `"type":"REP_NOTICE"`) != 2 {
		t.Errorf("the list: %s", got.body)
	}
	if got := b.do(t, http.MethodDelete, subs+"?type=124719&warehouse=119241&subscriber=user:1", ""); got.status != http.StatusNoContent {
		t.Errorf("a removal: %d %s", got.status, got.body)
	}
	if left, err := b.catalogue.Subscriptions(t.Context(), ledger.SubscriptionFilter{Limit: 10}); err != nil || len(left) != 1 || left[0].Warehouse != "119240" {
		t.Errorf("left are %v, %v", left, err)
	}

	if got := b.do(t, http.MethodPost, "/api/v1/silences", `{"matchers":["type=124719","warehouse=119240","type!=7"],"for":"1h"}`); !strings.Contains(got.body, `"type=REP_NOTICE","warehouse=119240","type!=7"`) {
		t.Errorf("a silence: %d %s", got.status, got.body)
	}
	if got := b.get(t, "/api/v1/types/124719"); !strings.Contains(got.body, `"code":"REP_NOTICE"`) {
		t.Errorf("a type: %s", got.body)
	}
	b.get(t, "/api/v1/notices/search?type=124719&type=LOT")
	if got := b.deliveries.sought; len(got) == 0 || !slices.Equal(got[len(got)-1].Types, []string{"REP_NOTICE", "LOT"}) {
		t.Errorf("searched for %+v", got)
	}
	b.get(t, deliveriesPath+"?type=124719")
	if got := b.deliveries.asked; len(got) == 0 || got[len(got)-1].Type != "REP_NOTICE" {
		t.Errorf("listed %+v", got)
	}
}
