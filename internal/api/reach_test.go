package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/engine"
	"tallyman/internal/api/operate"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules"
	"tallyman/rules/catalog"
)

// ruled is a node with rules whose warehouses are known, but that of dynamic, which depends on the row.
func ruled(t *testing.T, dynamic bool) *bundle {
	t.Helper()
	list := []*rules.Rule{
		{ID: "negative-bin", Scope: "W1", Key: []string{"bin", "sku"}, Labels: map[string]string{"area": "stock"}, OnError: rules.PolicyAlert, Notice: rules.Notice{Type: "REP_NOTICE"}},
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
			"rule=negative-bin":               "",
			"rule=negtive-bin":                "silence_without_effect: rule=negtive-bin matches no rule, type or warehouse that is known here",
			"rule=~.*-bin type=REP_NOTICE":    "",
			"rule=negative-bin type=WAVE":     "silence_without_effect: no rule, type or warehouse that is known here matches all of the matchers",
			"type=SENT":                       "",
			"type=SEND":                       "silence_without_effect: type=SEND matches no rule",
			"type=TALLYMAN_RULE_FAILED":       "",
			"warehouse=W1":                    "",
			"warehouse=W7":                    "", // somebody subscribes to it
			"warehouse=W8":                    "silence_without_effect: warehouse=W8 matches no rule",
			"rule=late-wave warehouse=W1":     "silence_without_effect: no rule, type or warehouse that is known here matches all",
			"scope=W1":                        "",
			"scope=W2":                        "silence_without_effect: scope=W2 matches no rule",
			"area=stock":                      "",
			`rule=negative-bin key=["A","S"]`: "",
			`rule=negative-bin key=no_data`:   "",
			`rule=negative-bin key=~.*A.*`:    "",
			`rule=negative-bin key=["A"]`:     `silence_without_effect: key=["A"] matches no rule`,
			"rule=negative-bin area=inbound":  "silence_without_effect: no rule, type or warehouse that is known here matches all",
		},
		true: {"warehouse=W8": "", "rule=anywhere warehouse=W8": "", "rule=late-wave warehouse=W8": "silence_without_effect: no rule, type or warehouse that is known here matches all"},
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

// Subscriptions that no rule serves say so.
func TestSubscriptionsOfNothingAreMarked(t *testing.T) {
	t.Parallel()
	const ofType, there = "subscription_unserved: no rule makes notices of the type;", "subscription_unserved: no rule makes notices of the type in warehouse W9;"
	for dynamic, want := range map[bool]map[string]string{
		false: {"MOVE W5": ofType, "REP_NOTICE W9": there, "SENT W7": ofType},
		true:  {"REP_NOTICE W9": there, "SENT W7": ofType},
	} {
		var page wire.SubscriptionsForm
		if err := json.Unmarshal([]byte(ruled(t, dynamic).get(t, "/api/v1/subscriptions").body), &page); err != nil || len(page.Subscriptions) != 6 {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, s := range page.Subscriptions {
			expected := want[s.Type+" "+s.Warehouse]
			if !strings.HasPrefix(s.Warning, expected) || expected == "" && s.Warning != "" {
				t.Errorf("%+v, want %q", s, expected)
			}
		}
	}
}

// TestErrorCodesDocument lists what the examples of warnings keep: a rule, and a silence or a subscription beside it.
func TestErrorCodesDocument(t *testing.T) {
	const page = "../../docs/reference/error-codes.md"
	codetest.Part{
		Page: page, Headings: "Silences and subscriptions", Codes: map[string]bool{operate.CodeUnserved: true, operate.CodeHoldsNothing: true},
		Run: func(t *testing.T, e *codetest.Example) string {
			t.Helper()
			file := rules.LoadFile("rule.yaml", []byte(codetest.Base(t, page, "base")+"    "+strings.ReplaceAll(strings.TrimSpace(e.Block("yaml", "")), "\n", "\n    ")+"\n"))
			if err := file.Problems.Err(); err != nil {
				t.Fatal(err)
			}
			b := setup(t, func(d *parts) {
				live := &fakeRules{}
				for _, r := range file.Rules {
					live.scopes = append(live.scopes, engine.RuleStatus{Rule: r})
				}
				d.Rules = live
				d.Catalogue = &fakeCatalogue{types: catalog.Catalog{"REP_NOTICE": {}}, subs: map[ledger.Subscription]bool{}}
			})
			kept, list := "subscriptions", e.Block("json", "")
			if strings.Contains(list, "matchers") {
				kept = "silences"
			}
			if got := b.do(t, http.MethodPost, "/api/v1/"+kept, list); got.status != http.StatusCreated {
				t.Fatalf("%d %s", got.status, got.body)
			}
			_, rest, _ := strings.Cut(b.get(t, "/api/v1/"+kept).body, `"warning":"`)
			warning, _, _ := strings.Cut(rest, `"`)
			return warning + "\n"
		},
		Update: *update, Command: "go test ./internal/api -run ErrorCodes",
		Sketch: "```yaml\na piece of the page's rule\n```\n```json\nthe body of POST /silences or /subscriptions\n```\n",
	}.Test(t)
}
