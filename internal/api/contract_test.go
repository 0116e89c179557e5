package api_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// contract is what these tests read of the OpenAPI document.
type contract struct {
	Servers []struct{ URL string }
	Paths   map[string]map[string]struct {
		OperationID string
		Security    *[]map[string][]string
		Parameters  []struct {
			Name   string
			Schema schema
		}
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema schema }
		}
	}
	Components struct{ Schemas map[string]schema }
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Minimum    *float64
	Maximum    *float64
	Default    any
	Properties map[string]schema
}

func readContract(t *testing.T) (doc contract) {
	t.Helper()
	_, text := readDocument(t)
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestOneNameHasOneType: a name has the same meaning and type in every operation.
func TestOneNameHasOneType(t *testing.T) {
	t.Parallel()
	doc := readContract(t)
	limits := 0
	for path, item := range doc.Paths {
		for _, op := range item {
			for _, p := range op.Parameters {
				if p.Name != "limit" {
					continue
				}
				limits++
				if s := p.Schema; s.Type != "integer" || s.Minimum == nil || *s.Minimum != 1 || s.Maximum == nil || s.Default == nil {
					t.Errorf("limit of %s is %+v", path, s)
				}
			}
		}
	}
	episodes := 0
	for name, s := range doc.Components.Schemas {
		if e, ok := s.Properties["episode"]; ok {
			episodes++
			if e.Type != "string" || e.Format != "" || e.Ref != "" {
				t.Errorf("episode of %s is %+v", name, e)
			}
		}
	}
	if limits < 9 || episodes < 3 {
		t.Errorf("the document has %d limits and %d episodes", limits, episodes)
	}
}

func TestEveryOperationSaysWhoMayAskAndHowItIsRefused(t *testing.T) {
	t.Parallel()
	doc := readContract(t)
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "/" {
		t.Errorf("servers are %v", doc.Servers)
	}
	var public []string
	for path, item := range doc.Paths {
		for method, op := range item {
			for _, class := range []string{"4XX", "default"} {
				if got := op.Responses[class].Content["application/problem+json"].Schema.Ref; got != "#/components/schemas/Problem" {
					t.Errorf("%s %s: %s is %q", method, path, class, got)
				}
			}
			if op.Security == nil {
				t.Errorf("%s %s says nothing of security", method, path)
			} else if len(*op.Security) == 0 {
				public = append(public, op.OperationID)
			}
		}
	}
	slices.Sort(public)
	if want := []string{"healthz", "readyz"}; !slices.Equal(public, want) {
		t.Errorf("%v are public, want %v", public, want)
	}
}

// TestTextXMLIsAnsweredAsTextXML asks for every answer that has a form in XML.
func TestTextXMLIsAnsweredAsTextXML(t *testing.T) {
	t.Parallel()
	b, _ := setupRules(t)
	b.inbox.put(onePage())
	answers := 0
	for path, item := range readContract(t).Paths {
		for method, op := range item {
			if _, inXML := op.Responses["200"].Content["application/xml"]; !inXML {
				continue
			}
			if method != "get" { // of changes those are asked for that need no more than a body
				continue
			}
			answers += b.checkTextXML(t, method, path)
		}
	}
	for path, body := range map[string]string{
		queuePath + "/items": `{"items":[{"id":"a","payload":1}]}`, queuePath + "/lease": `{"worker":"w"}`, "/api/v1/rules/pause": `{"reason":"stocktaking"}`,
		"/api/v1/types": `{"code":"LOT","id":7,"name":"Lot"}`,
	} {
		got := b.do(t, http.MethodPost, path, body, "Accept", "text/xml")
		if form := got.header.Get("Content-Type"); got.status >= http.StatusMultipleChoices || form != "text/xml; charset=utf-8" {
			t.Errorf("POST %s: %d %s %s", path, got.status, form, got.body)
		}
		answers++
	}
	if answers < 25 {
		t.Errorf("only %d answers had something to say", answers)
	}
}

// checkTextXML returns 1 where there was an answer.
func (b *bundle) checkTextXML(t *testing.T, method, path string) int {
	t.Helper()
	path = strings.NewReplacer("{queue}", "replenishment", "{code}", "REP_NOTICE", "{sink}", "sms", "{id}", "negative-bin-stock").Replace(path)
	switch {
	case path == "/api/v1/notices" || strings.HasSuffix(path, "/summary"):
		path += "?warehouse=119240&subscriber=user:1"
	case strings.HasPrefix(path, "/api/v1/legacy"):
		path += "?whId=119240&subscriberIdList=1"
	case strings.HasPrefix(path, "/api/v1/deliveries/"):
		path = deliveriesPath + "/2"
	}
	got := b.do(t, strings.ToUpper(method), path, "", "Accept", "text/xml")
	form := got.header.Get("Content-Type")
	if got.status >= http.StatusBadRequest {
		if form != "application/problem+xml" {
			t.Errorf("%s: %d as %s", path, got.status, form)
		}
		return 0
	}
	var element struct{ XMLName xml.Name }
	if err := xml.Unmarshal([]byte(got.body), &element); err != nil || form != "text/xml; charset=utf-8" {
		t.Errorf("%s: %d as %s: %v", path, got.status, form, err)
	}
	return 1
}

// TestNoAnswerIsHeldBackForAMinute: proxies give up after 60 s. Every operation of the document that can wait is asked to wait that long.
func TestNoAnswerIsHeldBackForAMinute(t *testing.T) {
	doc := readContract(t)
	asks := map[string]func(b *bundle) answer{
		"poll-notices":              func(b *bundle) answer { return b.handle(t, pollPath+"&wait=60s") },
		"legacy-list-notifications": func(b *bundle) answer { return b.handle(t, legacyPath+"?whId=1&subscriberIdList=1&wait=60s") },
		"legacy-post-notifications": func(b *bundle) answer {
			return b.handleBody(t, http.MethodPost, legacyPath+"?wait=60s", "whId=1&subscriberIdList=1", "Content-Type", "application/x-www-form-urlencoded")
		},
		"lease-items": func(b *bundle) answer {
			return b.handleBody(t, http.MethodPost, queuePath+"/lease", `{"worker":"w","wait":"60s"}`)
		},
		"step": func(b *bundle) answer {
			return b.handleBody(t, http.MethodPost, queuePath+"/step", `{"worker":"w","max":1,"wait":"1m"}`)
		},
	}
	for _, item := range doc.Paths {
		for _, op := range item {
			waits := slices.ContainsFunc(op.Parameters, func(p struct {
				Name   string
				Schema schema
			},
			) bool {
				return p.Name == "wait"
			})
			ref := op.RequestBody.Content["application/json"].Schema.Ref
			_, inBody := doc.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")].Properties["wait"]
			if !waits && !inBody {
				continue
			}
			ask := asks[op.OperationID]
			if ask == nil {
				t.Errorf("%s can wait, and this test does not know how to ask for it", op.OperationID)
				continue
			}
			delete(asks, op.OperationID)
			synctest.Test(t, func(t *testing.T) {
				b := newBundle()
				began := time.Now()
				got := ask(b)
				if took := time.Since(began); got.status != http.StatusOK || took < 50*time.Second || took > 55*time.Second {
					t.Errorf("%s: %d %s after %s", op.OperationID, got.status, got.body, took)
				}
			})
		}
	}
	for id := range asks {
		t.Errorf("%s does not wait", id)
	}
}
