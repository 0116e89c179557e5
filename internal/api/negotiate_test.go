package api_test

import (
	"slices"
	"testing"

	"tallyman/internal/api"
)

const (
	jsonForm = "application/json"
	xmlForm  = "application/xml"
	textForm = "text/xml"
)

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"application/json":                       jsonForm,
		"application/*":                          jsonForm,
		"text/*":                                 textForm,
		"*":                                      jsonForm,
		"APPLICATION/XML":                        xmlForm,
		"text/xml;charset=utf-8":                 textForm,
		"application/problem+xml":                xmlForm,
		"application/json;q=0.5,application/xml": xmlForm,
		"application/json;q=0.5, text/xml;q=0.6": textForm,
		"application/xml;q=0.2, */*;q=0.1":       xmlForm,
		"application/xml, */*":                   jsonForm, // equally wanted: ours first
		"application/json;q=0, */*":              xmlForm,
		"application/json;q=0, application/*":    xmlForm,
		"*/*;q=0.1, application/xml;q=0.0":       jsonForm,
		"application/xml ; Q=1.0 ; x=y":          xmlForm,
		"application/json;q=2":                   jsonForm, // no weight, so 1
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": xmlForm,  // a browser
		"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2":            jsonForm, // Java's URLConnection
		"text/html":                        "",
		"application/json;q=0":             "",
		"*/*;q=0":                          "",
		"application/xml;q=0,text/xml;q=0": "",
		"application":                      "",
		", ;;, =":                          "",
	} {
		got, ok := api.NegotiateHeader(accept)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", accept, got, ok, want)
		}
	}
}

func FuzzNegotiate(f *testing.F) {
	f.Add("application/json;q=0.5, text/*;q=1, */*")
	f.Add("*; q=.2")
	f.Add(";;,q=0")
	f.Fuzz(func(t *testing.T, accept string) {
		got, ok := api.NegotiateHeader(accept)
		if ok != slices.Contains([]string{jsonForm, xmlForm, textForm}, got) {
			t.Errorf("%q: %q, %v", accept, got, ok)
		}
	})
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for header, want := range map[string][]string{
		"":                              nil,
		"zh-CN":                         {"zh-cn"},
		"en;q=0.5, zh":                  {"zh", "en"},
		"en, zh":                        {"en", "zh"},
		"en;q=0, *, de;q=0.1":           {"de"},
		"<script>, zh-Hant-TW;q=0.8, ä": {"zh-hant-tw"},
		"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q": {
			"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
		},
	} {
		if got := api.Languages(header); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}
