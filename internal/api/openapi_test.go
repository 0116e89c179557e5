package api_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tallyman/sinks/inbox/page"
)

type document struct {
	OpenAPI string `json:"openapi"`
	Paths   map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Summary     string `json:"summary"`
		RequestBody *struct {
			Content map[string]any `json:"content"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Content map[string]any `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"schemas"`
	} `json:"components"`
}

func readDocument(t *testing.T) (doc document, text string) {
	t.Helper()
	got := setup(t).get(t, "/openapi.json")
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
		t.Fatal(err)
	}
	return doc, got.body
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	doc, text := readDocument(t)
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("OpenAPI %s", doc.OpenAPI)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(text), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "openapi.json", indented.String()+"\n")
}

func TestEveryRouteIsInTheDocument(t *testing.T) {
	t.Parallel()
	doc, _ := readDocument(t)
	var documented []string
	for path, item := range doc.Paths {
		for method, op := range item {
			documented = append(documented, strings.ToUpper(method)+" "+path)
			if op.OperationID == "" || op.Summary == "" {
				t.Errorf("%s %s says nothing of itself", method, path)
			}
			if _, ok := op.Responses["default"].Content["application/problem+xml"]; !ok {
				t.Errorf("%s %s does not mention problems", method, path)
			}
		}
	}
	served := patterns(&newBundle().deps)
	slices.Sort(documented)
	slices.Sort(served)
	if !slices.Equal(documented, served) {
		t.Errorf("documented\n%s\nserved\n%s", strings.Join(documented, "\n"), strings.Join(served, "\n"))
	}
}

func TestPollIsDocumentedInEveryForm(t *testing.T) {
	t.Parallel()
	doc, _ := readDocument(t)
	forms := slices.Sorted(maps.Keys(doc.Paths["/api/v1/notices"]["get"].Responses["200"].Content))
	if want := []string{"application/json", "application/xml"}; !slices.Equal(forms, want) {
		t.Errorf("a poll is documented in %v", forms)
	}
}

// TestAnswersFollowTheDocument holds the members of real answers against the schemas.
func TestAnswersFollowTheDocument(t *testing.T) {
	t.Parallel()
	doc, _ := readDocument(t)
	b := setup(t)
	pg := onePage()
	pg.Reset, pg.Reason, pg.Missed = true, page.ResetTrimmed, 12
	pg.Notices[0].Order = "7.25"
	b.inbox.put(pg)
	var answered struct {
		Page   map[string]any
		Notice map[string]any
	}
	body := b.get(t, pollPath).body
	if err := json.Unmarshal([]byte(body), &answered.Page); err != nil {
		t.Fatal(err)
	}
	notices, _ := answered.Page["notices"].([]any)
	answered.Notice, _ = notices[0].(map[string]any)
	for name, members := range map[string]map[string]any{"Notices": answered.Page, "Notice": answered.Notice} {
		got, want := slices.Sorted(maps.Keys(members)), slices.Sorted(maps.Keys(doc.Components.Schemas[name].Properties))
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, its schema %v", name, got, want)
		}
	}
}

// TestXMLAnswersAreWellFormed reads the XML of every GET that has one.
func TestXMLAnswersAreWellFormed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.inbox.put(onePage())
	for path, root := range map[string]string{
		pollPath: "notices", "/api/v1/types": "types", "/api/v1/types/REP_NOTICE": "type", "/api/v1/subscriptions": "subscriptions", "/api/v1/status": "status",
	} {
		got := b.get(t, path, "Accept", "text/xml")
		var element struct{ XMLName xml.Name }
		if err := xml.Unmarshal([]byte(got.body), &element); err != nil || element.XMLName.Local != root {
			t.Errorf("%s: %v, %v", path, err, reflect.ValueOf(element))
		}
	}
}
