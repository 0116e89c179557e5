package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/text"
	"tallyman/internal/text/texttest"
)

// odd has each text as a value, in a list and as a name; names once.
func odd() map[string]any {
	v := map[string]any{"all": strings.ToValidUTF8(texttest.All(), "\uFFFD"), "n": 7, "none": nil, "empty": []any{}, "no": map[string]any{}, "yes": true}
	var list []any
	names := map[string]any{}
	for _, s := range append(texttest.Each(), "yes", "Off", "y", "12:30:45", "1_000", "0o17", "017", "0x1F", "1e3", ".inf", "~", "null", "<<", "2026-06-01", "- a", "a: b", "# c", "&a", "*a", "!a") {
		s = strings.ToValidUTF8(s, "\uFFFD")
		list = append(list, s)
		names[s] = s
	}
	v["list"], v["names"] = list, names
	return v
}

// Whatever is stored is printed, and parses: by this program's own readers and, for YAML, by another one.
func TestOutputsCarryWhateverIsStored(t *testing.T) {
	t.Parallel()
	want, err := json.Marshal(odd())
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"json", "yaml"} {
		var out bytes.Buffer
		c := &command{Process: Process{Out: &out}, output: form}
		if err := c.print(odd(), nil); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		texttest.Visible(t, form, out.String())
		var got any
		if form == "json" {
			err = json.Unmarshal(out.Bytes(), &got)
		} else {
			err = yaml.Unmarshal(out.Bytes(), &got)
			byPython(t, out.Bytes(), want)
		}
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if diff := cmp.Diff(string(want), string(again)); diff != "" {
			t.Errorf("%s: -want +got\n%.2000s", form, diff)
		}
	}
}

// byPython reads the YAML with Python's reader, where there is one.
func byPython(t *testing.T, got, want []byte) {
	t.Helper()
	const script = `
import json, sys
try:
    import yaml
except ImportError:
    sys.exit(0)
got, want = sys.stdin.buffer.read().split(b"\x00")
a, b = yaml.safe_load(got.decode()), json.loads(want)
if a != b:
    for k in b:
        if a.get(k) != b[k]: sys.exit("%s: %r, want %r" % (k, a.get(k), b[k]))
    sys.exit("other members")
`
	python, err := exec.LookPath("python3")
	if err != nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", script)
	cmd.Stdin = io.MultiReader(bytes.NewReader(got), strings.NewReader("\x00"), bytes.NewReader(want))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Python reads the YAML otherwise: %v %.2000s", err, out)
	}
}

// JSON that the server keeps as it was sent may have escapes of pairs, and of halves from the time before they were refused.
func TestYAMLOfPayloads(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"a":"\ud83e\udd80"}`: "a: \"\\U0001F980\"\n", `{"a":"\ud800"}`: "a: \ufffd\n", "{\"a\":\"\u0085\"}": "a: \"\\N\"\n", `{"a":"\u202e\n"}`: "a: \"\\u202e\\n\"\n",
		`{"a":1e400,"b":-0,"c":10000000000000000000000}`: "a: 1e400\nb: -0\nc: 10000000000000000000000\n", `{"a":"one\ntwo"}`: "a: |-\n  one\n  two\n", `[]`: "[]\n", `"x"`: "x\n",
		"{\"a\":\"\xff\"}": "a: \ufffd\n",
	} {
		var out bytes.Buffer
		if err := writeYAML(&out, json.RawMessage(raw)); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v, want %q", raw, out.String(), err, want)
		}
	}
}

// Tables stay tables: a line a row, and all can be seen.
func TestTablesShowWhatIsHidden(t *testing.T) {
	t.Parallel()
	var rows [][]string
	for i, s := range texttest.Each() {
		rows = append(rows, []string{fmt.Sprint(i), s, s})
	}
	for name, write := range map[string]func(io.Writer){
		"columns": func(w io.Writer) { terminal.Columns(w, append([][]string{{"N", "TEXT", "AGAIN"}}, rows...)) },
		"grid":    func(w io.Writer) { terminal.Grid(w, 120, "", []string{"N", "TEXT", "AGAIN"}, rows) },
	} {
		var out bytes.Buffer
		c := &command{Process: Process{Out: &out}, output: "table"}
		if err := c.print(nil, write); err != nil {
			t.Fatal(err)
		}
		texttest.Visible(t, name, out.String())
		if lines := strings.Count(out.String(), "\n"); lines != len(rows)+1 {
			t.Errorf("%s: %d lines of %d rows", name, lines, len(rows))
		}
	}
	var out bytes.Buffer
	terminal.Wrap(&out, 80, "  body  ", texttest.All())
	texttest.Marked(t, "a wrapped text", out.String())
	// What a writer of tables leaves as it is, is made visible on its way out.
	out.Reset()
	c := &command{Process: Process{Out: &out}, output: "table"}
	if err := c.print(nil, func(w io.Writer) { fmt.Fprintln(w, texttest.All()) }); err != nil {
		t.Fatal(err)
	}
	texttest.Marked(t, "a text", out.String())
	for _, key := range []string{"[\"A\u0085\x7f\"]", `["\u0000"]`, "[\"\u202e\"]"} {
		shown := terminal.JSONLine(key)
		var was, is any
		if json.Unmarshal([]byte(key), &was) != nil || json.Unmarshal([]byte(shown), &is) != nil || !cmp.Equal(was, is) || text.Check(shown, text.Line) != nil {
			t.Errorf("%q is shown as %q", key, shown)
		}
	}
}
