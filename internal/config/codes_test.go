package config

import (
	"errors"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/rules/problem"
)

var update = flag.Bool("update", false, "write the outcomes of docs/error-codes.md anew")

// TestErrorCodesDocument loads the examples of the configuration.
func TestErrorCodesDocument(t *testing.T) {
	codetest.Part{
		Page: "../../docs/error-codes.md", Headings: "The configuration", Codes: codetest.Declared(t, codetest.Constant, "*.go", "../settings/*.go", "../../sinks/*/settings.go"),
		Run: func(t *testing.T, e *codetest.Example) string {
			t.Helper()
			return refusal(t, e.Blocks[0].Text)
		},
		Update: *update, Command: "go test ./internal/config -run ErrorCodes",
		Sketch: "```yaml\nan example: a configuration, or a piece of one\n```\n",
	}.Test(t)
}

// refusal is what `tallyman config check` says of a configuration that is not taken.
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
