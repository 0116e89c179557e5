package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	c := load(t, `
redis: {url: ["redis://:hunter2@r:6379/0"]}
ledger: {url: "postgres://u:hunter2@db/x"}
sources: {wms: {driver: postgres, url: "postgres://u:hunter2@db/x"}}
`)
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("loaded", "config", c, "url", c.Ledger.URL)
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	type inner struct{ secret Secret } // fmt calls no method of a field that is not exported
	shown := map[string]string{
		"slog": log.String(), "json": string(asJSON), "yaml": string(asYAML), "unexported": fmt.Sprintf("%+v", inner{c.Ledger.URL}),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown[verb] = fmt.Sprintf(verb, *c) + fmt.Sprintf(verb, c.Ledger.URL)
	}
	for how, text := range shown {
		if strings.Contains(text, hidden) || strings.Contains(text, fmt.Sprintf("%x", hidden)) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
	}
	if !strings.Contains(shown["json"], "***") {
		t.Errorf("json does not say that something is hidden: %s", shown["json"])
	}
	if NewSecret("").String() != "" || (Secret{}).Reveal() != "" {
		t.Error("an empty secret pretends to hide something")
	}
}

// Nor does the line of the file, whatever else is wrong with it.
func TestLinesDoNotShowSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`sinks: {p: {type: webhook, url: [hunter2]}}`,
		`sinks: {p: {type: webhook, url: {a: hunter2}}}`,
		`sinks: {p: {type: webhok, url: "https://hunter2"}}`,
		`sinks: {p: {type: webhook, url: "https://h/", headers: "Authorization: hunter2"}}`,
		`sinks: {p: {type: mail, host: h, from: a@b.de, password: [hunter2]}}`,
		`sinks: {p: {type: chat, url: ["slack://hook:hunter2@webhook"]}}`,
		`sinks: {p: {type: webhook, url: "https://hunter2`,
		"sinks:\n  p:\n    secret:\n      - whsec_hunter2\n     - x",
		`redis: {url: {a: "redis://:hunter2@r"}}`,
		`ledger: {url: "oracle://u:hunter2@x/x"}`,
		`sources: {wms: {driver: oracel, url: "oracle://u:hunter2@x/x"}}`,
	} {
		_, err := Load(Options{Types: types(), File: write(t, text)})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestProblemsDoNotShowSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`redis: {url: "ftp://:%s@r:6379/0"}`,
		`redis: {url: "redis://:%s@[bad/0"}`,
		`ledger: {url: "postgres://u:%s@[bad/x"}`,
		`ledger: {url: "oracle://u:%s@x/x"}`,
		`sources: {wms: {driver: postgres, url: "u:%s@host"}}`,
		`sources: {wms: {driver: sqlite, url: "%s"}}`,
	} {
		// The value is not in the file, so the line that a problem shows does not have it either.
		_, err := Load(Options{Types: types(), File: write(t, fmt.Sprintf(text, "${HIDDEN}")), Env: []string{"HIDDEN=hunter2"}})
		if err == nil {
			t.Errorf("%s was accepted", text)
			continue
		}
		if strings.Contains(fmt.Sprintf("%+v %#v", err, err), "hunter2") {
			t.Errorf("%s: the error shows the secret: %v", text, err)
		}
	}
}
