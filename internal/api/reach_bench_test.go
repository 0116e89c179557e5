package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/catalog"
)

// BenchmarkListsThatWarn lists a page of 1,000 subscriptions and 100 silences on a node with 10,000 rules. Half of the
// subscriptions and silences match nothing. A list should take some 10 ms.
func BenchmarkListsThatWarn(b *testing.B) {
	const scopes = 10_000
	live := &fakeRules{}
	types, subs := catalog.Catalog{}, map[ledger.Subscription]bool{}
	for i := range scopes {
		live.scopes = append(live.scopes, engine.RuleStatus{Rule: &rules.Rule{
			ID: fmt.Sprintf("rule-%d", i/10), Scope: fmt.Sprintf("W%d", i%10), Labels: map[string]string{"area": "stock"}, OnError: rules.PolicyAlert,
			Notice: rules.Notice{Type: fmt.Sprintf("TYPE_%d", i/10%500)},
		}})
	}
	for i := range 500 {
		types[fmt.Sprintf("TYPE_%d", i)] = catalog.Type{}
	}
	for i := range 1000 {
		subs[ledger.Subscription{Type: fmt.Sprintf("TYPE_%d", i/2), Warehouse: fmt.Sprintf("W%d", i%2*99), Subscriber: "user:a"}] = true
	}
	list := make([]silence.Silence, 100)
	for i := range list {
		text := fmt.Sprintf("rule=rule-%d", 10*i+500*(i%2)*100)
		m, err := silence.ParseMatcher(text)
		if err != nil {
			b.Fatal(err)
		}
		list[i] = silence.Silence{ID: fmt.Sprint("s_", i), From: quarterPast, Until: quarterPast.Add(time.Hour), Matchers: []silence.Matcher{m}}
	}
	node := newBundle(func(d *parts) {
		d.Rules = live
		d.Catalogue = &fakeCatalogue{types: types, subs: subs}
		d.Silences = (&fakeSilences{list: list}).served()
	})
	for name, path := range map[string]string{"subscriptions": "/api/v1/subscriptions?limit=1000", "silences": "/api/v1/silences"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				node.api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
