package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// The columns of a grid.
const (
	gap          = 2
	leastColumn  = 12 // what a column keeps: less of a title or an error says nothing
	mostInColumn = 60
)

// Nothing stands in a cell that has nothing to say.
const Nothing = "-"

// Grid writes a table that fits the width: columns that say nothing go first, then the widest are cut, and those for which there is
// still no room are left out, from the right. It returns how many were that say something.
func Grid(w io.Writer, width int, indent string, header []string, rows [][]string) (leftOut int) {
	lines, leftOut := GridLines(width, indent, header, rows, nil)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	return leftOut
}

// GridLines are the lines of a grid, the header first. The columns named by whole are never cut: what stands in them is of use
// only as a whole. One that has no room is left out.
func GridLines(width int, indent string, header []string, rows [][]string, whole []string) (lines []string, leftOut int) {
	cut := make([]bool, len(header))
	for i, name := range header {
		cut[i] = !slices.Contains(whole, name)
	}
	if total(natural(header, rows, cut)) > width-len(indent) {
		header, rows, cut = telling(header, rows, cut)
	}
	var widths []int
	for n := len(header); ; n-- {
		widths = narrowed(natural(header[:n], rows, cut), width-len(indent), cut)
		if n <= 1 || total(widths) <= width-len(indent) {
			break
		}
	}
	for _, cells := range append([][]string{header}, rows...) {
		var line strings.Builder
		line.WriteString(indent)
		for i, limit := range widths {
			cell := Fit(OneLine(cells[i]), limit)
			line.WriteString(cell + strings.Repeat(" ", limit-CellWidth(cell)+gap))
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines, len(header) - len(widths)
}

// telling leaves out the columns in which no row has anything; the first says which row it is.
func telling(header []string, rows [][]string, cut []bool) ([]string, [][]string, []bool) {
	silent := func(i int) bool {
		return i > 0 && len(rows) > 0 && !slices.ContainsFunc(rows, func(cells []string) bool { return cells[i] != Nothing })
	}
	var kept []string
	var keptCut []bool
	keptRows := make([][]string, len(rows))
	for i, name := range header {
		if silent(i) {
			continue
		}
		kept, keptCut = append(kept, name), append(keptCut, cut[i])
		for r, cells := range rows {
			keptRows[r] = append(keptRows[r], cells[i])
		}
	}
	return kept, keptRows, keptCut
}

// natural are the widths of columns that are not cut by others.
func natural(header []string, rows [][]string, cut []bool) []int {
	widths := make([]int, len(header))
	for _, cells := range append([][]string{header}, rows...) {
		for i := range header {
			width := CellWidth(OneLine(cells[i]))
			if cut[i] {
				width = min(width, mostInColumn)
			}
			widths[i] = max(widths[i], width)
		}
	}
	return widths
}

// narrowed takes from the widest columns that may be cut what is more than the room.
func narrowed(widths []int, room int, cut []bool) []int {
	for total(widths) > room {
		i := widest(widths, cut)
		if i < 0 || widths[i] <= leastColumn {
			break
		}
		widths[i]--
	}
	return widths
}

func total(widths []int) int {
	sum := -gap
	for _, n := range widths {
		sum += n + gap
	}
	return sum
}

// widest is the last of the widest columns that may be cut, or -1.
func widest(widths []int, cut []bool) int {
	best := -1
	for i, n := range widths {
		if cut[i] && (best < 0 || n >= widths[best]) {
			best = i
		}
	}
	return best
}

// Columns writes rows in columns.
func Columns(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = OneLine(cell)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // what it wraps is the program's output: if that is gone, nobody reads on
}

// Spread writes a grid in which the columns named by whole are never cut, and says what there was no room for.
func Spread(w io.Writer, width int, header []string, rows [][]string, whole []string) {
	lines, leftOut := GridLines(width, "", header, rows, whole)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	LeftOut(w, "", leftOut)
}

// LeftOut says how many columns there was no room for.
func LeftOut(w io.Writer, indent string, leftOut int) {
	switch {
	case leftOut == 1:
		fmt.Fprintf(w, "%s(1 column left out for want of room; -o json has everything)\n", indent)
	case leftOut > 1:
		fmt.Fprintf(w, "%s(%d columns left out for want of room; -o json has everything)\n", indent, leftOut)
	}
}
