package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/engine/trial/preview"
	"tallyman/internal/cli/terminal"
)

// previewText writes a preview for people.
type previewText struct {
	terminal.Page
	zone *time.Location
	r    *preview.Report
}

func writePreview(w io.Writer, width int, r *preview.Report) {
	zone, err := time.LoadLocation(r.Timezone)
	if err != nil { // The rule was loaded with this timezone, so the error cannot happen.
		zone = time.UTC
	}
	t := &previewText{Page: terminal.Page{Writer: w, Width: width}, zone: zone, r: r}
	t.head()
	t.rows()
	t.findings()
	t.notices()
}

// head writes the rule, its source and the result of the run.
func (t *previewText) head() {
	r := t.r
	t.Line("%s%s%s", r.Rule, within(r.Scope), titled(r.Title))
	t.Line("  asks      %s, as if due at %s", r.Source, t.full(r.Due))
	t.Wrap("  state     ", t.start())
	if w := r.Watermark; w != nil {
		t.Line("  reads     after %s, until %s", pairs(w.Columns, w.Before), t.full(w.Until))
	}
	t.Wrap("  outcome   ", fmt.Sprintf("%s in %s: %s, %s, %s; then %d pending, %d firing", r.Outcome, took(r.TookMS),
		count(r.Counts.Rows, "row"), matched(r.Counts), count(r.Counts.Notices, "notice"), r.Counts.Pending, r.Counts.Firing))
	if w := r.Watermark; w != nil && r.Error == "" {
		t.Line("  next run  reads after %s", pairs(w.Columns, w.After))
	}
	if p := r.Plan; p != nil {
		t.Wrap("  plan      ", planned(p))
	}
	if r.Error != "" {
		t.Wrap("  failed    ", r.Error)
	}
	for _, n := range r.Notes {
		t.Wrap("  ! ", n)
	}
}

func took(ms int64) string {
	if ms == 0 {
		return "under 1 ms"
	}
	return fmt.Sprintf("%d ms", ms)
}

func planned(p *preview.Plan) string {
	text := "costs " + strconv.FormatFloat(p.Cost, 'f', -1, 64)
	if p.MaxCost > 0 {
		text += fmt.Sprintf(" of %d", p.MaxCost)
	}
	return text + ": " + strings.Join(strings.FieldsFunc(p.Shape, func(r rune) bool { return r == '\n' }), ",")
}

func matched(c preview.Counts) string {
	text := fmt.Sprintf("%d matched", c.Matched)
	if c.Errored > 0 {
		text += fmt.Sprintf(", %d could not be judged", c.Errored)
	}
	return text
}

func (t *previewText) start() string {
	s := t.r.Start
	switch s.From {
	case preview.FromLedger:
		text := fmt.Sprintf("from the ledger: %d pending, %d firing", s.Pending, s.Firing)
		if s.LastRun != nil {
			text += ", last run at " + t.full(*s.LastRun)
		}
		return text
	case preview.FromNew:
		return "as a first run: the ledger does not know the rule in this scope yet"
	default:
		return "as a first run: no ledger is in reach (" + s.Reason + ")"
	}
}

// rows writes a table of the probe's rows, and below the table why some rows did not match.
func (t *previewText) rows() {
	r := t.r
	if r.Result != nil {
		verdict := t.verdict(*r.Result)
		if verdict == "–" {
			verdict = "does not meet the condition"
		}
		t.Line("\nThe result as a whole: %s", verdict)
		t.reasons([]preview.Row{{Judgement: *r.Result}})
	}
	if len(r.Rows) == 0 {
		return
	}
	header := []string{"row", "becomes"}
	for _, c := range r.Columns {
		header = append(header, c.Name)
	}
	if r.Result != nil {
		header = slices.Delete(header, 1, 2)
	}
	var rows [][]string
	for _, row := range r.Rows {
		cells := []string{strconv.Itoa(row.Number)}
		if r.Result == nil {
			cells = append(cells, t.verdict(row.Judgement))
		}
		for _, v := range row.Values {
			cells = append(cells, cell(v))
		}
		rows = append(rows, cells)
	}
	t.Line("")
	cut := t.Grid("  ", header, rows)
	t.more(r.LeftOut.Rows, "row")
	if cut > 0 {
		t.Line("  … and %s that had no room (-o json has all)", count(cut, "column"))
	}
	t.reasons(r.Rows)
}

func cell(v *string) string {
	if v == nil {
		return "NULL"
	}
	return *v
}

func (t *previewText) more(n int, what string) {
	if n > 0 {
		t.Line("  … and %s (--rows 0 shows all)", count(n, "more "+what))
	}
}

// reasons writes why rows did not match. Rows with the same reason share a line.
func (t *previewText) reasons(rows []preview.Row) {
	var order []string
	by := map[string][]int{}
	for _, row := range rows {
		text := strings.Join(row.Because, " and ")
		if row.Error != "" {
			text = row.Error
		}
		if text == "" {
			continue
		}
		if by[text] == nil {
			order = append(order, text)
		}
		by[text] = append(by[text], row.Number)
	}
	if len(order) > 0 {
		t.Line("")
	}
	for _, text := range order {
		t.Wrap("  ", numbers(by[text])+text)
	}
}

// numbers formats the numbers of rows, such as "rows 2, 4–6: ".
func numbers(list []int) string {
	if len(list) == 1 && list[0] == 0 {
		return "" // the result as a whole
	}
	var parts []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		switch part := strconv.Itoa(list[i]); {
		case k > i+1:
			parts = append(parts, part+"–"+strconv.Itoa(list[k]))
		default:
			k = i
			parts = append(parts, part)
		}
		i = k + 1
	}
	if len(list) == 1 {
		return "row " + parts[0] + ": "
	}
	return "rows " + strings.Join(parts, ", ") + ": "
}

// verdict returns the fate of a row in a few words.
func (t *previewText) verdict(j preview.Judgement) string {
	switch {
	case j.Fate == "" && !j.Match:
		return "–"
	case j.Fate == "":
		return "matches"
	}
	return t.life(j.Life)
}

func (t *previewText) life(l preview.Life) string {
	text := map[preview.Fate]string{
		preview.Pends: "pending", preview.Fires: "fires", preview.GoesOn: "goes on", preview.Reminded: "notified again: reminder", preview.Differs: "notified again: notify_again_on",
		preview.Rises: "notified again: priority rises", preview.ToldAgain: "notified again", preview.Resolves: "resolves", preview.Dropped: "gone before it fired",
		preview.Kept: "gone, still firing", preview.Untouched: "error", preview.Repeated: "key repeated", preview.Event: "new",
		preview.KnownEvent: "has a notice", preview.Baseline: "known from the first run", preview.SeenBefore: "seen before",
	}[l.Fate]
	if l.In != "" {
		text += " in a " + l.In
	}
	if l.Next != nil && (l.Fate == preview.Pends || l.Fate == preview.Kept) {
		text += " until " + t.short(*l.Next)
	}
	return text
}

// findings writes the findings without a row in the result.
func (t *previewText) findings() {
	if len(t.r.Findings) == 0 {
		return
	}
	t.Line("\nFindings that no row shows")
	var rows [][]string
	for _, f := range t.r.Findings {
		since := ""
		if f.Since != nil {
			since = t.short(*f.Since)
		}
		rows = append(rows, []string{t.life(f.Life), since, terminal.JSONLine(f.Key)})
	}
	t.Grid("  ", []string{"becomes", "since", "key"}, rows)
	t.more(t.r.LeftOut.Findings, "finding")
}

func pairs(names []string, values []*string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = n + " " + cell(values[i])
	}
	return strings.Join(parts, ", ")
}

// full formats a time in the rule's timezone.
func (t *previewText) full(at time.Time) string {
	return at.In(t.zone).Format("2006-01-02 15:04:05 -07:00")
}

// short formats a time without the parts that it shares with the due time.
func (t *previewText) short(at time.Time) string {
	at, due := at.In(t.zone), t.r.Due.In(t.zone)
	layout := "15:04"
	if at.Second() != 0 {
		layout = "15:04:05"
	}
	if at.Format(time.DateOnly) != due.Format(time.DateOnly) {
		layout = "2006-01-02 " + layout
	}
	return at.Format(layout)
}
