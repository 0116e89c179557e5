package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// whyText writes what is known of a finding for people. Times are in UTC.
type whyText struct {
	io.Writer
	width int
	f     *wire.WhyForm
}

func writeWhy(w io.Writer, width int, f *wire.WhyForm) {
	t := &whyText{w, width, f}
	t.head()
	t.row()
	t.condition()
	t.held()
	t.told()
}

func (t *whyText) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// section begins a part with a heading.
func (t *whyText) section(heading string) { t.line("\n%s", heading) }

func (t *whyText) head() {
	f := t.f
	t.line("%s%s%s", f.Rule, within(f.Scope), titled(f.Title))
	t.line("  key    %s", terminal.JSONLine(f.Key))
	terminal.Wrap(t, t.width, "  state  ", t.state())
	if f.Next != nil {
		terminal.Wrap(t, t.width, "  next   ", t.next())
	}
	if f.Look != nil && len(f.Look.To) > 0 {
		terminal.Wrap(t, t.width, "  to     ", "its notice would go to "+strings.Join(f.Look.To, "; to "))
	}
	if run := f.LastRun; run != nil {
		terminal.Wrap(t, t.width, "  run    ", fmt.Sprintf("the last was due at %s: %s, %s, %d matched", stamp(run.Due), run.Outcome, count(run.Rows, "row"), run.Matched))
	}
	if len(f.Alike) > 0 {
		t.section("Did you mean one of these? They are open:")
		for _, key := range f.Alike {
			t.line("  %s", key)
		}
	}
}

func (t *whyText) state() string {
	f := t.f
	switch {
	case f.State == "none" && !known(f):
		return "nothing is known of this key"
	case f.State == "none":
		return "no finding is open"
	case f.State == "pending":
		return fmt.Sprintf("pending, first seen at %s", stamp(*f.Since))
	}
	text := fmt.Sprintf("firing since %s", stamp(*f.Since))
	if n := f.Finding; n.LastNotified != nil {
		text += fmt.Sprintf(", told %s, last at %s with priority %d", times(n.Told), stamp(*n.LastNotified), n.Priority)
	}
	return text
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return strconv.Itoa(n) + " times"
}

// next says what comes, and on which condition.
func (t *whyText) next() string {
	at := stamp(t.f.Next.At)
	switch t.f.Next.What {
	case "fires":
		return "it is told at " + at + ", if the row stays as it is"
	case "event":
		return "the row is told at " + at
	case "reminder":
		return "it is told again at " + at + ", if the row stays as it is"
	case "resolves":
		return "it resolves at " + at + ", if the row stays away"
	default:
		return "it is dropped at " + at + " without a word, since it was never told"
	}
}

// row shows the row as it was recorded beside the row as it is.
func (t *whyText) row() {
	var recorded, now map[string]string
	var order []string
	header := []string{"COLUMN"}
	read := func(list []wire.ValueForm) map[string]string {
		values := map[string]string{}
		for _, v := range list {
			if !slices.Contains(order, v.Name) {
				order = append(order, v.Name)
			}
			values[v.Name] = "NULL"
			if v.Value != nil {
				values[v.Name] = *v.Value
			}
		}
		return values
	}
	if f := t.f.Finding; f != nil && len(f.Row) > 0 {
		recorded = read(f.Row)
		header = append(header, "RECORDED "+stamp(*f.RowDue))
	}
	if l := t.f.Look; l != nil && len(l.Row) > 0 {
		now = read(l.Row)
		header = append(header, "NOW")
	}
	if len(order) > 0 {
		t.section("Row")
		rows := make([][]string, len(order))
		for i, name := range order {
			rows[i] = append(rows[i], name)
			for _, values := range []map[string]string{recorded, now} {
				if values != nil {
					rows[i] = append(rows[i], values[name])
				}
			}
		}
		terminal.Grid(t, t.width, "  ", header, rows)
	}
	if l := t.f.Look; l != nil && !l.Answered {
		t.section("Now")
		terminal.Wrap(t, t.width, "  ", "the source was not asked: "+l.Reason)
	}
}

// condition shows its parts, each below what it is a part of.
func (t *whyText) condition() {
	l := t.f.Look
	if l == nil || len(l.Condition) == 0 {
		return
	}
	t.section("Condition")
	rows := make([][]string, len(l.Condition))
	for i, p := range l.Condition {
		outcome := p.Outcome
		if p.Fault != "" {
			outcome += ": " + p.Fault
		}
		rows[i] = []string{strings.Repeat("  ", p.Depth) + terminal.OneLine(p.Text), outcome}
	}
	terminal.Grid(t, t.width, "  ", []string{"PART", "NOW"}, rows)
}

func (t *whyText) held() {
	if len(t.f.Held) == 0 {
		return
	}
	t.section("Held back")
	longest := 0
	for _, h := range t.f.Held {
		longest = max(longest, len(h.Code))
	}
	for _, h := range t.f.Held {
		terminal.Wrap(t, t.width, fmt.Sprintf("  %-*s  ", longest, h.Code), h.Text)
	}
}

// told shows every notice and what became of it.
func (t *whyText) told() {
	if len(t.f.Told) == 0 {
		return
	}
	t.section("Told")
	for _, n := range t.f.Told {
		lead := fmt.Sprintf("  %s  %-8s  ", stamp(n.CreatedAt), n.Status)
		title := n.Title
		if n.Key != t.f.Key {
			title += fmt.Sprintf(" (with others: %s)", terminal.JSONLine(n.Key))
		}
		terminal.Wrap(t, t.width, lead, title)
		indent := strings.Repeat(" ", len(lead))
		if len(n.Deliveries) == 0 {
			t.line("%sto nobody", indent)
		}
		for _, d := range n.Deliveries {
			terminal.Wrap(t, t.width, indent, delivered(&d, t.f.Asked))
		}
	}
	if t.f.More {
		t.line("  and older ones")
	}
}

func delivered(d *wire.TracedDeliveryForm, asked time.Time) string {
	text := d.Sink + ": " + d.State
	if d.SentAt != nil {
		text += " at " + stamp(*d.SentAt)
	}
	if d.Attempts > 1 || d.State != "sent" && d.Attempts > 0 {
		text += ", " + count(d.Attempts, "attempt")
	}
	if len(d.Recipients) > 0 {
		text += ", to " + strings.Join(d.Recipients, " ")
	}
	switch {
	case d.Next == nil:
	case d.Next.After(asked):
		text += ", next at " + stamp(*d.Next)
	default:
		text += ", due since " + stamp(*d.Next)
	}
	if d.Error != "" {
		text += ": " + d.Error
	}
	return text
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
