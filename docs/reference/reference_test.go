package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tallyman/internal/app"
	"tallyman/internal/cli"
	"tallyman/internal/config"
	"tallyman/rules/condition"
	"tallyman/rules/message"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

const page = "rule-file.md"

// Every example of the guide gives what the guide says.
func TestExamples(t *testing.T) {
	for _, chapter := range condition.Reference() {
		for _, e := range chapter.Entries {
			t.Run(chapter.Title+"/"+e.Name, func(t *testing.T) {
				if e.Name == "" || e.Signature == "" || e.Meaning == "" {
					t.Fatalf("%+v", e)
				}
				if got := evaluated(t, e.Example, e.Rows); got != e.Gives {
					t.Errorf("%s gives %s, the guide says %s", e.Example, got, e.Gives)
				}
			})
		}
	}
}

// evaluated is what an expression gives over the row or the rows of the guide.
func evaluated(t *testing.T, src string, overRows bool) string {
	t.Helper()
	r, rows := exampleRow(), exampleRows()
	if overRows {
		p, err := condition.CompileResult(src, rows[0].Columns)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		p.SetNow(exampleNow())
		return shown(func() (row.Value, error) { return p.EvalResult(rows) })
	}
	p, err := condition.Compile(src, r.Columns)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	p.SetNow(exampleNow())
	return shown(func() (row.Value, error) { return p.Eval(r) })
}

func shown(eval func() (row.Value, error)) string {
	v, err := eval()
	switch {
	case err != nil:
		return "error: " + err.Error()
	case v.IsNull():
		return "NULL"
	}
	return v.String()
}

func TestHelpers(t *testing.T) {
	for _, h := range message.Reference() {
		t.Run(h.Name, func(t *testing.T) {
			tmpl, faults := message.Parse(h.Example)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			b, faults := tmpl.Bind(exampleRow().Columns, time.UTC)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			if got, err := b.Render(exampleRow()); err != nil || got != h.Gives || h.Meaning == "" {
				t.Errorf("%s gives %q, %v, the guide says %q", h.Example, got, err, h.Gives)
			}
		})
	}
}

// The pages have the tables as they come from the code.
func TestPagesAreFresh(t *testing.T) {
	n := 0
	for _, name := range []string{page, "../how-to/channels.md"} {
		have, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n += len(section.FindAllString(string(have), -1))
		if write(string(have)) != string(have) {
			t.Errorf("%s is not fresh: run make generate", name)
		}
	}
	if n != len(sections) {
		t.Errorf("the pages have %d of %d sections", n, len(sections))
	}
}

// In a block of the page that is marked so, each line is an expression, two spaces or more, and what it gives.
func TestRecipes(t *testing.T) {
	src, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```expr( rows)?\n(.*?)```")
	line := regexp.MustCompile(`^(.*\S)  +(\S.*)$`)
	n := 0
	for _, m := range block.FindAllStringSubmatch(string(src), -1) {
		for l := range strings.Lines(m[2]) {
			parts := line.FindStringSubmatch(strings.TrimSpace(l))
			if parts == nil {
				t.Errorf("%q has no result", l)
				continue
			}
			n++
			if got := evaluated(t, parts[1], m[1] != ""); got != parts[2] {
				t.Errorf("%s gives %s, the page says %s", parts[1], got, parts[2])
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d examples", n)
	}
}

// The pages of this folder are as the code makes them.
func TestReferencePagesAreFresh(t *testing.T) {
	for name, text := range pages {
		want, err := text()
		if err != nil {
			t.Error(err)
			continue
		}
		if have, err := os.ReadFile(name); err != nil || string(have) != wrapped(want) {
			t.Errorf("%s is not fresh: run make generate (%v)", name, err)
		}
		if !strings.HasPrefix(want, "# ") || strings.Contains(want, "%!") {
			t.Errorf("%s: %.200s", name, want)
		}
		fenced := false
		for line := range strings.Lines(want) {
			fenced = fenced != strings.HasPrefix(line, "```")
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 120+30 && !fenced && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "#") {
				t.Errorf("%s: a line has %d characters: %s", name, n, line)
			}
		}
	}
}

// Every key says what it takes and what it means, and no key is there twice.
func TestKeysAreExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range everySetting() {
		if seen[s.key] || s.takes == "" || s.meaning == "" {
			t.Errorf("%+v: twice %v", s, seen[s.key])
		}
		seen[s.key] = true
	}
	for _, key := range []string{"node.lease", "http.rate.requests", "auth.jwt.claims.access", "telemetry.log.level", "sources.NAME.functions", "sinks.webhook.token.assertion.life", "subscriptions.every"} {
		if !seen[key] {
			t.Errorf("there is no %s", key)
		}
	}
	page, err := configurationPage()
	if err != nil {
		t.Fatal(err)
	}
	for key := range seen {
		for _, typ := range app.Types().Sinks { // the page has the type in the heading
			key = strings.Replace(key, "sinks."+typ.Name+".", "sinks.NAME.", 1)
		}
		if !strings.Contains(page, "| `"+key+"` |") {
			t.Errorf("the page lacks %s", key)
		}
	}
}

// The variable of a key is known to whoever loads a configuration, and takes a text: a value that cannot be is refused as a value, not as
// a field that there is not, and not as something that must be a map or a list.
func TestVariablesSetTheirKeys(t *testing.T) {
	const site = `sources: {NAME: {driver: sqlite, url: "sqlite:a.db"}}
sinks: {inbox: {type: inbox}, queue: {type: queue}, webhook: {type: webhook, url: "http://a"}, mail: {type: mail, host: a, from: a@b.c}, chat: {type: chat, url: "a://b"}, stdout: {type: stdout}}
`
	file := filepath.Join(t.TempDir(), "tallyman.yaml")
	if err := os.WriteFile(file, []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range everySetting() {
		if s.variable == "" || strings.HasSuffix(s.variable, ".type") {
			continue
		}
		n++
		key := strings.TrimSuffix(s.variable, "__KEY")
		_, err := app.LoadConfig(config.Options{File: file, Env: []string{s.variable + "=\x01"}})
		var list problem.List
		if !errors.As(err, &list) {
			t.Errorf("%s=… says %v", key, err)
			continue
		}
		found := list.Error()
		if strings.Contains(found, "unknown_field") || strings.Contains(found, "takes a map") || strings.Contains(found, "takes a list") {
			t.Errorf("%s: %s", s.variable, found)
		}
	}
	if n < 100 {
		t.Errorf("only %d variables", n)
	}
}

// The keys of a section stand in the order in which configs/tallyman.yaml shows them.
func TestKeysAreInTheOrderOfTheFile(t *testing.T) {
	src, err := os.ReadFile("../../configs/tallyman.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range []string{"http", "auth", "redis", "ledger", "telemetry"} {
		at := regexp.MustCompile(`(?m)^(# )?` + section + `:`).FindStringIndex(string(src))
		if at == nil {
			t.Errorf("the file has no %s", section)
			continue
		}
		text, last := string(src[at[1]:]), -1
		for _, s := range everySetting() {
			name, isOwn := strings.CutPrefix(s.key, section+".")
			if !isOwn || strings.Contains(name, ".") {
				continue
			}
			place := regexp.MustCompile(`(?m)^[# ]*` + name + `:`).FindStringIndex(text)
			if place == nil || place[0] < last {
				t.Errorf("%s: the file shows it at %v, after %d", s.key, place, last)
				continue
			}
			last = place[0]
		}
	}
}

// Every command, flag and exit code of the program is on the page.
func TestCommandsAreListed(t *testing.T) {
	page := cli.Reference()
	for _, want := range []string{
		"\n## tallyman serve\n", "\n### tallyman log level\n", "`--log-level STRING`", "- `3`: ", "`--speed FLOAT` | `60`", "tallyman clock confirm --reason",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A message that is no constant, and one with two levels, is found.
func TestLogMessagesAreKeys(t *testing.T) {
	if events, err := logEvents(root); err != nil || len(events) < 150 {
		t.Errorf("%d events, %v", len(events), err)
	}
	for body, want := range map[string]string{
		`log.Info("a " + "b")`:                       "",
		`log.Info("a"); logger().Warn("b")`:          "",
		`log.Info(fmt.Sprintf("a %d", 1))`:           "no constant text",
		`log.Info("a"); x.Logger.Warn("a")`:          "two levels",
		`log.LogAttrs(ctx, slog.LevelInfo, a)`:       "no constant text",
		`x.log.Error("a"); l.LogAttrs(ctx, 1, nope)`: "",
	} {
		dir := t.TempDir()
		for _, folder := range logFolders {
			if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "engine", "a.go"), []byte("package a\nfunc f() { "+body+" }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := logEvents(dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
