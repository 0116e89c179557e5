package bench

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// table is printed between the lines of go test, columns to the right.
type table struct{ w *tabwriter.Writer }

func newTable(title string, heads ...string) table {
	_, _ = fmt.Fprintf(os.Stdout, "\n%s\n", title)
	t := table{tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)}
	t.row(heads...)
	return t
}

func (t table) row(cells ...string) { _, _ = fmt.Fprintln(t.w, strings.Join(cells, "\t")+"\t") }

func (t table) print() { _ = t.w.Flush() }

// thousands writes 12345 as 12,345.
func thousands(f float64) string {
	text := fmt.Sprintf("%.0f", f)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// unit makes a contender's name a part of a unit of go test, which has no spaces.
func unit(name string) string { return strings.ReplaceAll(name, " ", "-") }
