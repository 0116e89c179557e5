package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/internal/settings"
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
