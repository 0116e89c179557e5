package cli

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAGridFits(t *testing.T) {
	t.Parallel()
	cell := rapid.OneOf(rapid.StringN(0, 30, -1), rapid.StringOfN(rapid.RuneFrom([]rune("货位abc ")), 0, 40, -1))
	rapid.Check(t, func(t *rapid.T) {
		width, columns := rapid.IntRange(narrowest, 130).Draw(t, "width"), rapid.IntRange(1, 20).Draw(t, "columns")
		var rows [][]string
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			rows = append(rows, rapid.SliceOfN(cell, columns, columns).Draw(t, "cells"))
		}
		var b strings.Builder
		out := grid(&b, width, "  ", rows[0], rows[1:])
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != len(rows) || out >= columns {
			t.Fatalf("%d lines of %d rows, %d of %d columns left out:\n%s", len(lines), len(rows), out, columns, b.String())
		}
		for _, l := range lines {
			if cellWidth(l) > width {
				t.Fatalf("%d columns in a terminal of %d: %q", cellWidth(l), width, l)
			}
		}
	})
}

func TestAGridCutsTheWidestFirst(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	rows := [][]string{{"1", "货位货位货位货位货位货位货位", strings.Repeat("x", 60)}, {"2", "short", "a\tb\x00"}}
	if out := grid(&b, 50, "  ", []string{"no", "bin", "note"}, rows); out != 0 {
		t.Errorf("%d columns left out", out)
	}
	const want = `  no  bin                    note
  1   货位货位货位货位货位…  xxxxxxxxxxxxxxxxxxxx…
  2   short                  a b[U+0000]
`
	if got := b.String(); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	b.Reset()
	many := strings.Split(strings.Repeat("column-name ", 12), " ")
	if out := grid(&b, 49, "", many, nil); out != 10 || b.String() != "column-name  column-name  column-name\n" { // what cannot be read any more is left out
		t.Errorf("%d left out: %s", out, b.String())
	}
}

// Where not all fits, a column that says nothing makes room for those that do, and nobody misses it.
func TestAGridLeavesOutWhatSaysNothing(t *testing.T) {
	t.Parallel()
	header := []string{"sink", "error", "next", "title"}
	rows := [][]string{{"-", "-", "-", "Bin A-01 is at -3"}, {"-", "-", "due", "Bin A-02 is at -4"}}
	for width, want := range map[int]string{
		44: "sink  error  next  title\n-     -      -     Bin A-01 is at -3\n-     -      due   Bin A-02 is at -4\n",
		29: "sink  next  title\n-     -     Bin A-01 is at -3\n-     due   Bin A-02 is at -4\n",
	} {
		var b strings.Builder
		if out := grid(&b, width, "", header, rows); out != 0 || b.String() != want {
			t.Errorf("in %d columns, %d left out:\n%s", width, out, b.String())
		}
	}
}

func TestWrappedHangsBelowItsLead(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	wrapped(&b, 20, "  to ", "one two three four five\nsix")
	const want = "  to one two three\n     four five\n     six\n"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
}

func TestHelpFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"rules", "--help"}, {"silences", "add", "--help"}, {"tokens", "create", "--help"}} {
		var out, errOut strings.Builder
		code := Run(t.Context(), Process{Args: args, Env: []string{"COLUMNS=80"}, In: strings.NewReader(""), Out: &out, Err: &errOut}, Services{})
		text, _, _ := strings.Cut(out.String(), "\nUsage:\n")
		_, flags, _ := strings.Cut(out.String(), "\nFlags:\n")
		for line := range strings.Lines(text + "\n" + flags) {
			if cellWidth(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%v: too wide: %s", args, line)
			}
		}
		if code != ExitFine || strings.Contains(out.String(), "tallyman rules [flags]") || !strings.Contains(out.String(), "Usage:\n  tallyman ") {
			t.Errorf("%v: %d %s%s", args, code, out.String(), errOut.String())
		}
	}
}
