package terminal

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
		out := Grid(&b, width, "  ", rows[0], rows[1:])
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != len(rows) || out >= columns {
			t.Fatalf("%d lines of %d rows, %d of %d columns left out:\n%s", len(lines), len(rows), out, columns, b.String())
		}
		for _, l := range lines {
			if CellWidth(l) > width {
				t.Fatalf("%d columns in a terminal of %d: %q", CellWidth(l), width, l)
			}
		}
	})
}

func TestAGridCutsTheWidestFirst(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	rows := [][]string{{"1", "货位货位货位货位货位货位货位", strings.Repeat("x", 60)}, {"2", "short", "a\tb\x00"}}
	if out := Grid(&b, 50, "  ", []string{"no", "bin", "note"}, rows); out != 0 {
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
	if out := Grid(&b, 49, "", many, nil); out != 10 || b.String() != "column-name  column-name  column-name\n" { // what cannot be read any more is left out
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
		if out := Grid(&b, width, "", header, rows); out != 0 || b.String() != want {
			t.Errorf("in %d columns, %d left out:\n%s", width, out, b.String())
		}
	}
}

func TestWrappedHangsBelowItsLead(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	Wrap(&b, 20, "  to ", "one two three four five\nsix")
	const want = "  to one two three\n     four five\n     six\n"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
}
