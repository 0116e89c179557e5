package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/internal/settings"
	"tallyman/rules/problem"
)

func loadTelemetry(t *testing.T, text string, env ...string) (*Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tallyman.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"types.yaml"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte("types: []\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(Options{Types: types(), File: file, Env: env})
}

func TestTelemetry(t *testing.T) {
	t.Parallel()
	c, err := loadTelemetry(t, "rules: {paths: [.]}\ntelemetry: {traces: {endpoint: \"http://collector:4318\", headers: {authorization: \"Bearer ${T}\"}, sample: 0.25}}\n", "T=swordfish")
	if err != nil {
		t.Fatal(err)
	}
	got := c.Telemetry.Traces
	if got.Endpoint != "http://collector:4318/v1/traces" || got.Headers["Authorization"].Reveal() != "Bearer swordfish" || got.Sample != 0.25 {
		t.Errorf("got %+v", got)
	}
	if d := Default(types()).Telemetry.Traces; d.Endpoint != "" || d.Sample != 1 {
		t.Errorf("by default %+v", d)
	}
}

// The log has a format and a level, which the environment and flags may set; what is neither is refused.
func TestTelemetryLog(t *testing.T) {
	t.Parallel()
	const empty = "rules: {paths: [.]}\n"
	for text, want := range map[string]Log{
		empty: {LogText, "info"},
		empty + "telemetry: {log: {format: json, level: warn}}\n": {LogJSON, "warn"},
	} {
		c, err := loadTelemetry(t, text)
		if err != nil || c.Telemetry.Log != want {
			t.Errorf("%s: %+v, %v", text, c.Telemetry.Log, err)
		}
	}
	c, err := loadTelemetry(t, empty, "TALLYMAN_TELEMETRY__LOG__LEVEL=debug")
	if err != nil || c.Telemetry.Log != (Log{LogText, "debug"}) {
		t.Errorf("from the environment: %v, %v", c, err)
	}
	for _, bad := range []string{"level: loud", "format: xml", "level: INFO", "levels: info"} {
		if _, err := loadTelemetry(t, empty+"telemetry: {log: {"+bad+"}}\n"); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestBadTelemetry(t *testing.T) {
	t.Parallel()
	for traces, want := range map[string]string{
		`{endpoint: "collector:4318"}`:                CodeURL,
		`{endpoint: "http://me:swordfish@collector"}`: CodeURL,
		`{sample: 1.5}`:                               "out_of_range",
		`{sample: NaN}`:                               "out_of_range",
		`{headers: {A: swordfish}, sample: 2}`:        "out_of_range",
		`{sample: much}`:                              "type",
		`{headers: {"a b": c}}`:                       settings.CodeHeader,
		`{enabled: true}`:                             "unknown",
	} {
		_, err := loadTelemetry(t, "rules: {paths: [.]}\ntelemetry: {traces: "+traces+"}\n")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(fmt.Sprintf("%+v", err), "swordfish") {
			t.Errorf("%s: %v, want %s", traces, err, want)
		}
	}
}

var update = flag.Bool("update", false, "write the outcomes of docs/reference/error-codes.md anew")

// TestErrorCodesDocument loads the examples of the configuration.
func TestErrorCodesDocument(t *testing.T) {
	codetest.Part{
		Page: "../../docs/reference/error-codes.md", Headings: "The configuration", Codes: codetest.Declared(t, codetest.Constant, "*.go", "../settings/*.go", "../../sinks/*/settings.go"),
		Run: func(t *testing.T, e *codetest.Example) string {
			t.Helper()
			return refusal(t, e.Blocks[0].Text)
		},
		Update: *update, Command: "go test ./internal/config -run ErrorCodes",
		Sketch: "```yaml\nan example: a configuration, or a piece of one\n```\n",
	}.Test(t)
}

// refusal returns what `tallyman config check` prints for a refused configuration.
func refusal(t *testing.T, text string) string {
	t.Helper()
	file := write(t, text)
	_, err := Load(Options{Types: types(), File: file})
	var list problem.List
	if !errors.As(err, &list) {
		t.Fatalf("no problems, but %v", err)
	}
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.String() + "\n")
	}
	return strings.ReplaceAll(b.String(), filepath.Dir(file)+string(filepath.Separator), "")
}

// The shipped configuration has every key, as a default or in a comment. The problem of an unknown key lists the keys.
func TestEveryKeyIsShown(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../configs/tallyman.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shown := string(b)
	for section, text := range map[string]string{
		"":             "zzz: 1",
		"http:":        "http: {zzz: 1}",
		"rate:":        "http: {rate: {zzz: 1}}",
		"cors:":        "http: {cors: {zzz: 1}}",
		"http:\n":      "http: {tls: {zzz: 1}}",
		"auth:":        "auth: {zzz: 1}",
		"jwt:":         "auth: {jwt: {zzz: 1}}",
		"claims:":      "auth: {jwt: {claims: {zzz: 1}}}",
		"redis:":       "redis: {zzz: 1}",
		"ledger:":      "ledger: {zzz: 1}",
		"rules:":       "rules: {zzz: 1}",
		"types:":       "types: {zzz: 1}",
		"sources:":     "sources: {a: {zzz: 1}}",
		"telemetry:":   "telemetry: {zzz: 1}",
		"#   log:":     "telemetry: {log: {zzz: 1}}",
		"#   metrics:": "telemetry: {metrics: {zzz: 1}}",
		"#   traces:":  "telemetry: {traces: {zzz: 1}}",
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
