package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/item"
	"tallyman/internal/wire"
)

// writeItems writes the items of a state, a line for each.
func writeItems(w io.Writer, width int, state item.State, items []wire.ItemForm) {
	if len(items) == 0 {
		fmt.Fprintf(w, "Nothing is %s.\n", state)
		return
	}
	var header, whole []string
	rows := make([][]string, len(items))
	columns := itemColumns(state)
	if slices.ContainsFunc(items, func(i wire.ItemForm) bool { return i.Warehouse != "" }) {
		columns = append(columns, itemColumn{"WAREHOUSE", func(i *wire.ItemForm) string { return orDash(i.Warehouse) }})
	}
	for _, col := range columns {
		header = append(header, col.name)
		if col.name != payloadColumn {
			whole = append(whole, col.name)
		}
		for i := range items {
			rows[i] = append(rows[i], col.cell(&items[i]))
		}
	}
	terminal.Spread(w, width, header, rows, whole)
}

// itemColumn is a column of a list of items.
type itemColumn struct {
	name string
	cell func(*wire.ItemForm) string
}

// gist is what a payload is about, for a line: its title where it has one, as a notice has; else all of it.
func gist(payload wire.Payload) string {
	var titled struct {
		Title string `json:"title"`
	}
	if json.Unmarshal(payload, &titled) == nil && titled.Title != "" {
		return terminal.OneLine(titled.Title)
	}
	return string(payload)
}

// payloadColumn is the one that is cut.
const payloadColumn = "PAYLOAD"

// itemColumns are those that say something in the state, what matters most first.
func itemColumns(state item.State) []itemColumn {
	var columns []itemColumn
	add := func(name string, cell func(*wire.ItemForm) string) { columns = append(columns, itemColumn{name, cell}) }
	payload := func() { add(payloadColumn, func(i *wire.ItemForm) string { return gist(i.Payload) }) }
	if !state.Ended() {
		add("RANK", func(i *wire.ItemForm) string { return strconv.FormatInt(i.Rank, 10) })
	}
	add("ITEM", func(i *wire.ItemForm) string { return i.ID })
	add("PRIO", func(i *wire.ItemForm) string { return strconv.Itoa(i.Priority) })
	switch state {
	case item.Ready:
		payload()
		add("READY SINCE", func(i *wire.ItemForm) string { return when(i.ReadyAt) })
		add("SCORE", func(i *wire.ItemForm) string { return strconv.FormatInt(i.Score, 10) })
	case item.Assigned:
		add("FOR", func(i *wire.ItemForm) string { return i.Assignee })
		payload()
		add("READY SINCE", func(i *wire.ItemForm) string { return when(i.ReadyAt) })
	case item.Leased:
		add("WORKER", func(i *wire.ItemForm) string { return orDash(i.Worker) })
		add("ATTEMPT", func(i *wire.ItemForm) string { return strconv.Itoa(i.Attempt) })
		add("REMAINING", remaining)
		payload()
		add("LEASE ENDS", func(i *wire.ItemForm) string { return when(i.Due) })
	case item.Delayed, item.Suspended, item.Stored:
		add("REMAINING", remaining)
		payload()
		add("READY AT", func(i *wire.ItemForm) string { return when(i.Due) })
		add("FOR", func(i *wire.ItemForm) string { return orDash(i.Assignee) })
		add("SUSPENDS", func(i *wire.ItemForm) string { return strconv.Itoa(i.Suspends) })
	case item.Dead:
		add("FAILURES", func(i *wire.ItemForm) string { return strconv.Itoa(i.Failures) })
		payload()
		add("DIED", func(i *wire.ItemForm) string { return when(i.Due) })
	default:
		payload()
		add("CREATED", func(i *wire.ItemForm) string { return stamp(i.CreatedAt) })
	}
	return columns
}

// remaining is how long an item is still leased or put off.
func remaining(i *wire.ItemForm) string {
	if i.RemainingSeconds == nil {
		return "-"
	}
	return lasting(*i.RemainingSeconds)
}

func when(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return stamp(*t)
}

func orDash(s string) string {
	if s == "" {
		return terminal.Nothing
	}
	return s
}

// writePeek writes what is served next, with the whole payloads.
func writePeek(w io.Writer, items []wire.ItemForm) {
	if len(items) == 0 {
		fmt.Fprintln(w, "Nothing is ready.")
	}
	for i := range items {
		it := &items[i]
		fmt.Fprintf(w, "%d. %s  priority %d, ready since %s\n", it.Rank, it.ID, it.Priority, when(it.ReadyAt))
		fmt.Fprintf(w, "   %s\n", terminal.JSONLine(it.Payload))
	}
}

// writeTraced writes an item and what has happened to it.
func writeTraced(w io.Writer, width int, queue string, t *wire.TracedItemForm) {
	fmt.Fprintf(w, "%s in %s\n", t.ID, queue)
	terminal.Wrap(w, width, "  state     ", itemState(&t.ItemForm))
	for _, f := range []struct{ name, text string }{
		{"warehouse", t.Warehouse},
		{"for", t.Assignee},
		{"priority", strconv.Itoa(t.Priority)},
		{"attempt", strconv.Itoa(t.Attempt)},
		{"failures", strconv.Itoa(t.Failures)},
		{"suspends", strconv.Itoa(t.Suspends)},
		{"created", stamp(t.CreatedAt)},
	} {
		if f.text != "" {
			fmt.Fprintf(w, "  %-9s %s\n", f.name, f.text)
		}
	}
	fmt.Fprintf(w, "  payload   %s\n", terminal.JSONLine(t.Payload))
	writeTrace(w, width, t.Trace)
}

// writeTrace writes every move on a line, and below it why.
func writeTrace(w io.Writer, width int, trace []wire.MoveForm) {
	if len(trace) == 0 {
		fmt.Fprintln(w, "\nThere is no trace.")
		return
	}
	fmt.Fprintln(w, "\nTrace")
	header := []string{"WHEN", "FROM", "TO", "BY", "ATTEMPT", "NODE", "UNTIL"}
	rows := make([][]string, len(trace))
	for i := range trace {
		m := &trace[i]
		until := when(m.Due)
		if m.To == string(item.Dead) { // then it says since when
			until = "-"
		}
		rows[i] = []string{m.At.UTC().Format(traceTime), orDash(m.From), m.To, orDash(m.By), strconv.Itoa(m.Attempt), m.Node, until}
	}
	lines, leftOut := terminal.GridLines(width, "  ", header, rows, []string{"WHEN", "FROM", "TO", "ATTEMPT", "UNTIL"})
	fmt.Fprintln(w, lines[0])
	for i := range trace {
		m := &trace[i]
		fmt.Fprintln(w, lines[i+1])
		if m.Assignee != "" && (i == 0 || trace[i-1].Assignee != m.Assignee) {
			terminal.Wrap(w, width, belowTime, "for "+m.Assignee+" alone")
		}
		if m.Note != "" {
			terminal.Wrap(w, width, belowTime, m.Note)
		}
	}
	terminal.LeftOut(w, "  ", leftOut)
}

// The times of a trace tell milliseconds apart. What is said of a move stands below its states.
const (
	traceTime = "2006-01-02 15:04:05.000Z"
	belowTime = "                            "
)

// itemState says how an item stands, in words.
func itemState(i *wire.ItemForm) string {
	text := i.State
	switch item.State(i.State) {
	case item.Ready:
		text += " since " + when(i.ReadyAt)
	case item.Leased:
		text += " by " + orDash(i.Worker) + " until " + when(i.Due) + ", " + remaining(i) + " from now"
	case item.Delayed, item.Suspended, item.Stored:
		text += " until " + when(i.Due) + ", " + remaining(i) + " from now"
	case item.Dead:
		text += " since " + when(i.Due)
	default: // an end says everything
	}
	return text
}

// refusal says what an outcome means that has changed nothing.
func refusal(o item.Outcome, form *wire.OpForm) string {
	switch o {
	case item.LeaseLost:
		return fmt.Sprintf("attempt %d is over, or another subject's: its lease has run out, or the item has gone on or ended", form.Attempt)
	case item.NotFound:
		return "the queue has no such item, or it has ended"
	case item.IsLeased:
		return "a worker has it"
	case item.SuspendLimit:
		return "it was suspended as often as the queue allows; store or finish it"
	case item.NotDead:
		return "it is not dead"
	case item.IsDead:
		return "it is dead; requeue or remove it"
	default:
		return "nothing was changed"
	}
}

// writeOutcome says what became of an operation.
func writeOutcome(w io.Writer, r *wire.ResultForm, form *wire.OpForm) {
	if r.Outcome != string(item.OK) {
		fmt.Fprintf(w, "%s: %s: %s\n", r.ID, r.Outcome, refusal(item.Outcome(r.Outcome), form))
		return
	}
	text := r.ID + " is " + r.State
	if r.Due != nil && r.State != string(item.Dead) {
		text += " until " + stamp(*r.Due)
	}
	if form.Worker != nil && *form.Worker != "" {
		text += ", for " + *form.Worker + " alone"
	}
	if form.Worker != nil && *form.Worker == "" {
		text += ", for anybody"
	}
	fmt.Fprintln(w, text+".")
}
