package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

func (c ruleCommands) why() *cobra.Command {
	var scope string
	var look bool
	cmd := c.withServer(&cobra.Command{
		Use:   "why RULE KEY",
		Short: "Show what a running server knows of one finding, and what holds its notice back",
		Long: `Show what a running server knows of one finding: its row as the run saw it and as the source has it now, the condition with the result
of each part, the state of the finding, what holds its notice back, what comes next, and every notice of the finding with its deliveries.

KEY is the key of the finding as a notice has it, [119240,"A-01","S1"], or only its values, 119240,A-01,S1. The key of a group stands for the
first open finding of the group. The source is only read, within the timeout and limits of the rule. The exit code is 1 if nothing is known of the key.`,
		Example: `  tallyman rules why negative-bin-stock 119240,A-01,S1 --scope 119240
  tallyman rules why negative-bin-stock '[119240,"A-01","S1"]' --scope 119240 --look=false -o json`,
		Args: takes("RULE", "KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[1]) == "" {
				return usage("the KEY is empty: give the key of a notice, or the values of the rule's key, as in %s RULE 119240,A-01,S1", cmd.CommandPath())
			}
			raw, form, err := c.client().why(cmd.Context(), args[0], args[1], scope, look)
			if err != nil {
				return err
			}
			err = c.print(raw, func(w io.Writer) { writeWhy(w, c.width(), form) })
			if err == nil && !known(form) {
				return found()
			}
			return err
		},
	})
	cmd.Flags().StringVar(&scope, "scope", "", "the scope; required if the rule has several")
	cmd.Flags().BoolVar(&look, "look", true, "read the row from the source now")
	return cmd
}

// whyTimeout is the timeout of the request. The server asks the source, and a probe may take minutes.
const whyTimeout = 5 * time.Minute

// why returns the answer of the server unchanged, and decoded.
func (c *client) why(ctx context.Context, rule, key, scope string, look bool) (json.RawMessage, *wire.WhyForm, error) {
	query := queryOf(map[string]string{"scope": scope})
	query.Set("key", key)
	if !look {
		query.Set("look", "false")
	}
	c.http.Timeout = whyTimeout
	form := &wire.WhyForm{}
	raw, err := c.ask(ctx, http.MethodGet, withQuery(rulePath(rule, "/why"), query), nil, form)
	return raw, form, err
}

// known tells whether the server knows anything about the key.
func known(f *wire.WhyForm) bool {
	return f.State != "none" || len(f.Told) > 0 || f.Look != nil && f.Look.Found
}

// whyText writes the answer about a finding for people. Times are in UTC.
type whyText struct {
	terminal.Page
	f *wire.WhyForm
}

func writeWhy(w io.Writer, width int, f *wire.WhyForm) {
	t := &whyText{terminal.Page{Writer: w, Width: width}, f}
	t.head()
	t.row()
	t.condition()
	t.held()
	t.notices()
}

// section writes the heading of a part.
func (t *whyText) section(heading string) { t.Line("\n%s", heading) }

func (t *whyText) head() {
	f := t.f
	t.Line("%s%s%s", f.Rule, within(f.Scope), titled(f.Title))
	t.Line("  key    %s", terminal.JSONLine(f.Key))
	t.Wrap("  state  ", t.state())
	if f.Next != nil {
		t.Wrap("  next   ", t.next())
	}
	if f.Look != nil && len(f.Look.To) > 0 {
		t.Wrap("  to     ", "its notice would go to "+strings.Join(f.Look.To, "; to "))
	}
	if run := f.LastRun; run != nil {
		t.Wrap("  run    ", fmt.Sprintf("the last was due at %s: %s, %s, %d matched", stamp(run.Due), run.Outcome, count(run.Rows, "row"), run.Matched))
	}
	if len(f.Alike) > 0 {
		t.section("Did you mean one of these open findings?")
		for _, key := range f.Alike {
			t.Line("  %s", key)
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
		text += fmt.Sprintf(", notified %s, last at %s with priority %d", times(n.Told), stamp(*n.LastNotified), n.Priority)
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

// next returns what happens next, and under which condition.
func (t *whyText) next() string {
	at := stamp(t.f.Next.At)
	switch t.f.Next.What {
	case "fires":
		return "the finding fires at " + at + ", if the row stays as it is"
	case "event":
		return "the notice of the row follows at " + at
	case "reminder":
		return "the next notice follows at " + at + ", if the row stays as it is"
	case "resolves":
		return "the finding resolves at " + at + ", if the row stays away"
	default:
		return "the finding is dropped at " + at + " without a notice, because no notice of it was made"
	}
}

// row writes the recorded row beside the current row.
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
		t.Grid("  ", header, rows)
	}
	if l := t.f.Look; l != nil && !l.Answered {
		t.section("Now")
		t.Wrap("  ", "the source was not asked: "+l.Reason)
	}
}

// condition writes the condition and its parts. Each part stands below the whole to which it belongs.
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
	t.Grid("  ", []string{"PART", "NOW"}, rows)
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
		t.Wrap(fmt.Sprintf("  %-*s  ", longest, h.Code), h.Text)
	}
}

// notices shows every notice with its deliveries.
func (t *whyText) notices() {
	if len(t.f.Told) == 0 {
		return
	}
	t.section("Notices")
	for _, n := range t.f.Told {
		lead := fmt.Sprintf("  %s  %-8s  ", stamp(n.CreatedAt), n.Status)
		title := n.Title
		if n.Key != t.f.Key {
			title += fmt.Sprintf(" (with others: %s)", terminal.JSONLine(n.Key))
		}
		t.Wrap(lead, title)
		indent := strings.Repeat(" ", len(lead))
		if len(n.Deliveries) == 0 {
			t.Line("%sno delivery", indent)
		}
		for _, d := range n.Deliveries {
			t.Wrap(indent, delivered(&d, t.f.Asked))
		}
	}
	if t.f.More {
		t.Line("  and older ones")
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
