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
	leastColumn  = 12 // the least width of a cut column; a shorter title or error would be useless
	mostInColumn = 60
)

// Nothing is the text of an empty cell.
const Nothing = "-"

// Grid writes a table that fits the width. If the table is too wide, Grid leaves out empty columns, and then cuts the
// widest columns. If the table is still too wide, Grid leaves out columns from the right. It returns how many non-empty
// columns it has left out.
func Grid(w io.Writer, width int, indent string, header []string, rows [][]string) (leftOut int) {
	lines, leftOut := GridLines(width, indent, header, rows, nil)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	return leftOut
}

// GridLines returns the lines of a grid, the header first. The columns in whole are never cut, because a part of their
// value is of no use. Such a column is left out if it has no room.
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

// telling leaves out columns without a value in any row. The first column always stays, because it identifies the row.
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

// natural returns the widths of the columns before the table is fitted to the width.
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

// narrowed cuts the widest of the columns that may be cut, until the columns fit the room.
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

// widest returns the last of the widest columns that may be cut, or -1.
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
	_ = t.Flush() // After an error the reader is gone. Text output ignores such errors.
}

// Spread writes a grid, and a line with the number of columns that had no room. The columns in whole are never cut.
func Spread(w io.Writer, width int, header []string, rows [][]string, whole []string) {
	lines, leftOut := GridLines(width, "", header, rows, whole)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	LeftOut(w, "", leftOut)
}

// LeftOut writes how many columns had no room.
func LeftOut(w io.Writer, indent string, leftOut int) {
	switch {
	case leftOut == 1:
		fmt.Fprintf(w, "%s(1 column left out, because the terminal is too narrow; -o json has everything)\n", indent)
	case leftOut > 1:
		fmt.Fprintf(w, "%s(%d columns left out, because the terminal is too narrow; -o json has everything)\n", indent, leftOut)
	}
}
