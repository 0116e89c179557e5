package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/api"
	"tallyman/sinks/inbox/page"
)

// paramJSON is a parameter of the document.
type paramJSON struct {
	Name, In string
	Schema   struct {
		Type    any
		Enum    []any
		Default any
		Minimum *float64
		Pattern string
	}
	Example any
}

// a value that the parameter may have.
func (p *paramJSON) value() string {
	switch {
	case p.Name == "lastFetchTimeStamp" || p.Name == "since":
		return "1"
	case len(p.Schema.Enum) > 0:
		return fmt.Sprint(p.Schema.Enum[0])
	case p.Schema.Type == "boolean":
		return "false"
	case p.Schema.Type == "integer":
		return "5"
	case p.Example != nil:
		return fmt.Sprint(p.Example)
	case p.Name == "wait":
		return "0s"
	}
	return "1"
}

// TestWhatHasOneValueComesOnce gives each parameter of each operation twice that is no list, and each header that is read as one value.
func TestWhatHasOneValueComesOnce(t *testing.T) {
	t.Parallel()
	f := &fakeRules{scopes: twoScopes()}
	b := newBundle(func(d *parts) { d.Rules, d.History, d.RuleFiles = f, f, ruleFiles })
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []paramJSON
		}
	}
	if err := json.Unmarshal([]byte(b.handle(t, "/openapi.json").body), &doc); err != nil {
		t.Fatal(err)
	}
	listHeaders := []string{"Accept", "Accept-Language", "If-None-Match"}
	parameters, headers := 0, 0
	for path, item := range doc.Paths {
		path := strings.NewReplacer("{queue}", "replenishment", "{code}", "REP_NOTICE", "{id}", "1", "{sink}", "inbox").Replace(path)
		for method, op := range item {
			for _, p := range op.Parameters {
				list := p.Schema.Type == "array" || fmt.Sprint(p.Schema.Type) == "[array null]"
				if p.In != "query" || list {
					if p.In == "header" && !api.IsSingleHeader(p.Name) && !slices.Contains(listHeaders, p.Name) {
						t.Errorf("%s reads header %s, of which nothing says whether it may come twice", op.OperationID, p.Name)
					}
					continue
				}
				for _, value := range []string{p.value(), ""} {
					parameters++
					query := url.Values{p.Name: {value, value}}.Encode()
					got := b.handleBody(t, strings.ToUpper(method), path+"?"+query, "")
					if code := got.asProblem(t).Code; code != "repeated_parameter" {
						t.Errorf("%s?%s: %d %s", op.OperationID, query, got.status, got.body)
					}
				}
			}
			for _, name := range api.SingleHeaders() {
				headers++
				got := b.handleBody(t, strings.ToUpper(method), path, "", name, "a", name, "b")
				if got.status != 400 || got.asProblem(t).Code != "repeated_header" {
					t.Errorf("%s with two %s: %d %s", op.OperationID, name, got.status, got.body)
				}
			}
		}
	}
	if parameters < 100 || headers < 500 {
		t.Errorf("only %d parameters and %d headers were tried", parameters, headers)
	}
}

// TestAListMayComeInLines has the languages of a client in two lines, for the operations of the library and for the others.
func TestAListMayComeInLines(t *testing.T) {
	t.Parallel()
	b := newBundle()
	b.inbox.put(onePage())
	b.reads.sum = page.Summary{Latest: onePage().Notices}
	for _, path := range []string{pollPath, "/api/v1/notices/summary?warehouse=119240&subscriber=user:1"} {
		got := b.handle(t, path, "Accept-Language", "xx", "Accept-Language", "zh", "Accept", "text/html", "Accept", "application/json")
		if got.status != 200 || !strings.Contains(got.body, "货位 A-01 为 -3") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}
