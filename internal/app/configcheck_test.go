package app_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/internal/app"
	"tallyman/internal/config"
)

// TestConfigCheckDocument checks the documented examples of problems that keep a node from starting.
func TestConfigCheckDocument(t *testing.T) {
	codetest.Part{
		Page: codesPage, Headings: "What keeps a node from starting", Codes: codetest.Declared(t, codetest.Constant, "configcheck.go"),
		Run: func(t *testing.T, e *codetest.Example) string {
			t.Helper()
			dir := t.TempDir()
			inDir := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			types, err := os.ReadFile("../../configs/types.yaml")
			if err != nil {
				t.Fatal(err)
			}
			inDir("types.yaml", string(types))
			for _, b := range e.Blocks {
				if b.Language == "html" {
					inDir(b.Flags, b.Text)
				}
			}
			file := inDir("tallyman.yaml", "ledger: {url: \"sqlite:ledger.db\"}\n"+e.Block("yaml", ""))
			cfg, err := config.Load(config.Options{File: file, Types: app.Types()})
			if err != nil {
				t.Fatal(err)
			}
			list := app.CheckConfig(t.Context(), cfg)
			var b strings.Builder
			for _, p := range list {
				b.WriteString(strings.ReplaceAll(p.String(), dir+"/", "") + "\n")
			}
			// A node does not start with it either.
			if a, err := app.New(t.Context(), cfg, app.Options{Logger: slog.New(slog.DiscardHandler)}); err == nil {
				_ = a.Close()
				t.Errorf("%s: the node starts", e.Code)
			}
			return b.String()
		},
		Update: *update, Command: "go test ./internal/app -run ConfigCheckDocument",
		Sketch: "```yaml\na piece of a configuration\n```\n",
	}.Test(t)
}
