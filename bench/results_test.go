package bench

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// results gathers the samples of a scenario.
type results struct {
	names   []string // of the contenders, in the order of the columns
	cells   []cell   // the measured cells, in their order
	samples map[cell]map[string][]sample
}

func newResults(list []contender) *results {
	r := &results{samples: map[cell]map[string][]sample{}}
	for _, k := range list {
		r.names = append(r.names, k.name)
	}
	return r
}

func (r *results) add(c cell, name string, s sample) {
	if r.samples[c] == nil {
		r.samples[c] = map[string][]sample{}
		r.cells = append(r.cells, c)
	}
	r.samples[c][name] = append(r.samples[c][name], s)
}

// median returns the median of the rounds, or 0 without a round.
func (r *results) median(c cell, name string, of func(sample) float64) float64 {
	var values []float64
	for _, s := range r.samples[c][name] {
		values = append(values, of(s))
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// ratio compares two contenders: the rate of name divided by the rate of to.
type ratio struct{ name, to, unit string }

func ratios() []ratio {
	return []ratio{
		{"tallyman", "lists", "of-lists"},
		{"tallyman", "asynq", "x-asynq"},
		{"tallyman", "asynq ×8", "x-asynq×8"},
		{"ledger", "asynq", "ledger-x-asynq"},
		{"ledger", "asynq ×8", "ledger-x-asynq×8"},
		{"ledger", "river", "ledger-x-river"},
		{"ledger", "no trace", "ledger-of-no-trace"},
	}
}

// ratio returns the ratio of the two rates. It returns false unless both contenders were measured.
func (r *results) ratio(c cell, of ratio) (float64, bool) {
	a, b := r.median(c, of.name, rate), r.median(c, of.to, rate)
	return a / b, a > 0 && b > 0
}

func rate(s sample) float64 { return s.rate }

// print prints a table of the rates, one of the ratios and one of the processor time.
func (r *results) print(title string) {
	if len(r.cells) == 0 {
		return
	}
	r.table(title+": jobs per second", r.names, func(c cell, i int) string {
		return thousands(r.median(c, r.names[i], rate))
	})
	var used []ratio
	var heads []string
	for _, x := range ratios() {
		if slices.Contains(r.names, x.name) && slices.Contains(r.names, x.to) {
			used, heads = append(used, x), append(heads, x.name+" ÷ "+x.to)
		}
	}
	if len(used) > 0 {
		r.table(title+": how they stand to each other", heads, func(c cell, i int) string {
			x, _ := r.ratio(c, used[i])
			return fmt.Sprintf("%.2f", x)
		})
	}
	r.table(title+": seconds of processor time per million jobs, of Redis / PostgreSQL / the client", r.names, func(c cell, i int) string {
		at := func(of func(usage) float64) float64 {
			return r.median(c, r.names[i], func(s sample) float64 { return of(s.cpu) })
		}
		return fmt.Sprintf("%.1f / %.1f / %.1f", at(func(u usage) float64 { return u.redis }),
			at(func(u usage) float64 { return u.postgres }), at(func(u usage) float64 { return u.client }))
	})
}

// table prints a row for each cell.
func (r *results) table(title string, heads []string, text func(c cell, column int) string) {
	t := newTable(title, append([]string{"batch", "workers"}, heads...)...)
	for _, c := range r.cells {
		row := []string{strconv.Itoa(c.batch), strconv.Itoa(c.workers)}
		for i := range heads {
			row = append(row, text(c, i))
		}
		t.row(row...)
	}
	t.print()
}

// table is a table between the lines of go test. Its columns are aligned to the right.
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

// unit returns the name of a contender without spaces, because a unit of go test has none.
func unit(name string) string { return strings.ReplaceAll(name, " ", "-") }
