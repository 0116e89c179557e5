package api_test

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
)

// jsonPage is what the tests look at in a page.
type jsonPage struct {
	Notices []struct{ ID, Title string }
	Cursor  string
	Unread  int
	More    bool
	Reset   bool
	Reason  string `json:"resetReason"`
	Missed  *int
}

func decodePage(t *testing.T, body string) jsonPage {
	t.Helper()
	var pg jsonPage
	if err := json.Unmarshal([]byte(body), &pg); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return pg
}

// problemAnswer is an error as a client reads it, from either form.
type problemAnswer struct {
	XMLName   xml.Name `json:"-" xml:"urn:ietf:rfc:7807 problem"`
	Title     string   `json:"title" xml:"title"`
	Status    int      `json:"status" xml:"status"`
	Detail    string   `json:"detail" xml:"detail"`
	Code      string   `json:"code" xml:"code"`
	RequestID string   `json:"requestId" xml:"requestId"`
	Errors    []struct {
		Location string `json:"location" xml:"location"`
		Message  string `json:"message" xml:"message"`
	} `json:"errors" xml:"errors>i"`
}

// asProblem reads an answer that must be a problem.
func (a answer) asProblem(t *testing.T) problemAnswer {
	t.Helper()
	var p problemAnswer
	var err error
	switch ct := a.header.Get("Content-Type"); ct {
	case "application/problem+json":
		d := json.NewDecoder(strings.NewReader(a.body))
		d.DisallowUnknownFields()
		err = d.Decode(&p)
	case "application/problem+xml":
		err = xml.Unmarshal([]byte(a.body), &p)
	default:
		t.Fatalf("status %d comes as %q: %s", a.status, ct, a.body)
	}
	if err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	if p.Status != a.status || p.Title == "" || p.Detail == "" || p.RequestID != a.header.Get("X-Request-Id") {
		t.Errorf("incomplete problem %+v for status %d", p, a.status)
	}
	return p
}
