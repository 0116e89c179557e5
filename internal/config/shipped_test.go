package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every key that there is stands in the shipped configuration, as a default or in a comment. What the keys are is told to who writes another.
func TestEveryKeyIsShown(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../configs/tallyman.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shown := string(b)
	for section, text := range map[string]string{
		"":                   "zzz: 1",
		"http:":              "http: {zzz: 1}",
		"rate:":              "http: {rate: {zzz: 1}}",
		"cors:":              "http: {cors: {zzz: 1}}",
		"http:\n":            "http: {tls: {zzz: 1}}",
		"auth:":              "auth: {zzz: 1}",
		"jwt:":               "auth: {jwt: {zzz: 1}}",
		"claims:":            "auth: {jwt: {claims: {zzz: 1}}}",
		"redis:":             "redis: {zzz: 1}",
		"ledger:":            "ledger: {zzz: 1}",
		"rules:":             "rules: {zzz: 1}",
		"types:":             "types: {zzz: 1}",
		"sources:":           "sources: {a: {zzz: 1}}",
		"telemetry:":         "telemetry: {zzz: 1}",
		"telemetry:\n#   # ": "telemetry: {traces: {zzz: 1}}",
	} {
		_, part, found := strings.Cut(shown, section)
		_, err := Load(Options{Types: types(), File: write(t, text)})
		known := ""
		for _, p := range problemsOf(t, err) {
			if _, list, ok := strings.Cut(p.Hint, "known fields: "); ok {
				known = list
			}
		}
		if !found || known == "" {
			t.Errorf("%s: section found %v, known fields %q", text, found, known)
		}
		for name := range strings.SplitSeq(known, ", ") {
			if !regexp.MustCompile(`(?m)(^|[ {#])` + name + `:( |$)`).MatchString(part) {
				t.Errorf("%s: configs/tallyman.yaml does not show %s", text, name)
			}
		}
	}
}
