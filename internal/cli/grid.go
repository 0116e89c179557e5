package cli

import (
	"io"
	"slices"
	"strings"
)

// The columns of a grid.
const (
	gap          = 2
	leastColumn  = 8 // what a column keeps while others are wider
	mostInColumn = 60
)

// grid writes a table that fits the width: the widest columns are cut first, and those for which there is still no room
// are left out, from the right. It returns how many were.
func grid(w io.Writer, width int, indent string, header []string, rows [][]string) (leftOut int) {
	lines, leftOut := gridLines(width, indent, header, rows, nil)
	for _, line := range lines {
		_, _ = io.WriteString(w, line+"\n") // as all output: if that is gone, nobody reads on
	}
	return leftOut
}

// gridLines are the lines of a grid, the header first. Columns of these names are never cut: what stands in them is of use
// only as a whole. One that has no room is left out.
func gridLines(width int, indent string, header []string, rows [][]string, whole []string) (lines []string, leftOut int) {
	cut := make([]bool, len(header))
	for i, name := range header {
		cut[i] = !slices.Contains(whole, name)
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
			cell := fit(oneLine(cells[i]), limit)
			line.WriteString(cell + strings.Repeat(" ", limit-cellWidth(cell)+gap))
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines, len(header) - len(widths)
}

// natural are the widths of columns that are not cut by others.
func natural(header []string, rows [][]string, cut []bool) []int {
	widths := make([]int, len(header))
	for _, cells := range append([][]string{header}, rows...) {
		for i := range header {
			width := cellWidth(oneLine(cells[i]))
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
