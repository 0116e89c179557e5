package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules"
	"tallyman/rules/catalog"
)

// ruled is a node with rules whose warehouses are known, but that of dynamic, which depends on the row.
func ruled(t *testing.T, dynamic bool) *bundle {
	t.Helper()
	list := []*rules.Rule{
		{ID: "negative-bin", Scope: "W1", Labels: map[string]string{"area": "stock"}, OnError: rules.PolicyAlert, Notice: rules.Notice{Type: "REP_NOTICE"}},
		{ID: "late-wave", Notice: rules.Notice{Type: "WAVE", Warehouse: "'W2'"}},
	}
	if dynamic {
		list = append(list, &rules.Rule{ID: "anywhere", Notice: rules.Notice{Type: "MOVE", Warehouse: "wh_id"}})
	}
	return setup(t, func(d *parts) {
		live := &fakeRules{}
		for _, r := range list {
			live.scopes = append(live.scopes, engine.RuleStatus{Rule: r})
		}
		d.Rules = live
		d.Catalogue = &fakeCatalogue{types: catalog.Catalog{"REP_NOTICE": {}, "WAVE": {}, "MOVE": {}, "SENT": {}}, subs: map[ledger.Subscription]bool{
			{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:a"}: true, {Type: "REP_NOTICE", Warehouse: "W9", Subscriber: "user:a"}: true,
			{Type: "WAVE", Warehouse: "W2", Subscriber: "user:a"}: true, {Type: "SENT", Warehouse: "W7", Subscriber: "user:a"}: true,
			{Type: "MOVE", Warehouse: "W5", Subscriber: "user:a"}: true, {Type: "TALLYMAN_RULE_FAILED", Warehouse: "W1", Subscriber: "user:a"}: true,
		}}
	})
}

// A silence that can hold back nothing that is known says so when it is added, and as long as it is not over.
func TestSilencesOfNothingAreMarked(t *testing.T) {
	t.Parallel()
	for dynamic, cases := range map[bool]map[string]string{
		false: {
			"rule=negative-bin":              "",
			"rule=negtive-bin":               "rule=negtive-bin matches no rule, type or warehouse that is known here",
			"rule=~.*-bin type=REP_NOTICE":   "",
			"rule=negative-bin type=WAVE":    "no rule, type or warehouse that is known here matches all of the matchers",
			"type=SENT":                      "",
			"type=SEND":                      "type=SEND matches no rule",
			"type=TALLYMAN_RULE_FAILED":      "",
			"warehouse=W1":                   "",
			"warehouse=W7":                   "", // somebody subscribes to it
			"warehouse=W8":                   "warehouse=W8 matches no rule",
			"rule=late-wave warehouse=W1":    "no rule, type or warehouse that is known here matches all",
			"scope=W1":                       "",
			"scope=W2":                       "scope=W2 matches no rule",
			"area=stock":                     "",
			"rule=negative-bin area=inbound": "no rule, type or warehouse that is known here matches all",
		},
		true: {"warehouse=W8": "", "rule=anywhere warehouse=W8": "", "rule=late-wave warehouse=W8": "no rule, type or warehouse that is known here matches all"},
	} {
		b := ruled(t, dynamic)
		for matchers, want := range cases {
			text, err := json.Marshal(map[string]any{"matchers": strings.Fields(matchers), "for": "2h"})
			if err != nil {
				t.Fatal(err)
			}
			var form wire.SilenceForm
			got := b.do(t, http.MethodPost, "/api/v1/silences", string(text), "Content-Type", "application/json")
			if err := json.Unmarshal([]byte(got.body), &form); err != nil || got.status != http.StatusCreated || !strings.HasPrefix(form.Warning, want) || want == "" && form.Warning != "" {
				t.Errorf("%s: %d %q, want %q: %v", matchers, got.status, form.Warning, want, err)
			}
			var list wire.SilencesForm
			if err := json.Unmarshal([]byte(b.get(t, "/api/v1/silences").body), &list); err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(list.Silences, func(s wire.SilenceForm) bool { return s.ID == form.ID })
			if at < 0 || list.Silences[at].Warning != form.Warning {
				t.Errorf("%s: the list says %+v", matchers, list.Silences)
			}
			if got := b.do(t, http.MethodPost, "/api/v1/silences/"+form.ID+"/expire", ""); strings.Contains(got.body, "warning") {
				t.Errorf("%s is over: %s", matchers, got.body)
			}
		}
	}
}

// Subscriptions that no rule serves are named with the page.
func TestSubscriptionsOfNothingAreMarked(t *testing.T) {
	t.Parallel()
	for dynamic, want := range map[bool][]string{
		false: {"MOVE W5 user:a: no rule makes notices of the type;", "REP_NOTICE W9 user:a: no rule makes notices of the type in warehouse W9;", "SENT W7 user:a: no rule makes notices of the type;"},
		true:  {"REP_NOTICE W9", "SENT W7"},
	} {
		var page wire.SubscriptionsForm
		if err := json.Unmarshal([]byte(ruled(t, dynamic).get(t, "/api/v1/subscriptions").body), &page); err != nil || len(page.Warnings) != len(want) {
			t.Fatalf("%q, %v", page.Warnings, err)
		}
		for i, w := range page.Warnings {
			if !strings.HasPrefix(w, want[i]) {
				t.Errorf("%q, want %q", w, want[i])
			}
		}
	}
}
