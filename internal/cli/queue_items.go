package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/item"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

func (c queueCommands) lease() *cobra.Command {
	var form wire.LeaseForm
	cmd := c.withTwin(&cobra.Command{
		Use:   "lease QUEUE --worker NAME",
		Short: "Lease items to work on, the highest priority first",
		Long: `Lease items to work on: the highest priority first, inside a priority the lowest order, or the oldest item where items have no order. The items belong to the
worker until the lease ends. ack, nack, extend and the other operations name the attempt that this command prints. A request that is repeated under the same
id gets the same answer, and leases nothing twice.`,
		Example: "  tallyman queue lease replenishment --worker packer-7 --max 10 --wait 25s",
		Args:    takes("QUEUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case form.Worker == "":
				return usage("%s needs --worker: the name of the worker", cmd.CommandPath())
			case form.Max < 1 || form.Max > item.MaxBatch:
				return usage("--max takes 1 to %d", item.MaxBatch)
			}
			cl := c.client()
			if form.Wait != "" {
				wait, err := strictyaml.ParseDuration(form.Wait)
				if err != nil {
					return usage("--wait: %w", err)
				}
				cl.http.Timeout += wait
			}
			var done wire.LeasedItemsForm
			raw, err := cl.ask(cmd.Context(), http.MethodPost, queuePath(args[0], "lease"), form, &done)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) {
				if len(done.Items) == 0 {
					fmt.Fprintln(w, c.whyNothing(cmd.Context(), args[0], form.Test))
				}
				writeLeased(w, done.Items)
			})
		},
	}, &form.Test)
	flags := cmd.Flags()
	flags.StringVar(&form.Worker, "worker", "", "a name that no other worker of the queue has")
	flags.IntVar(&form.Max, "max", 1, "how many items at most")
	flags.Var((*spanFlag)(&form.Wait), "wait", "how long to wait for the first item, 60s at most")
	flags.Var((*spanFlag)(&form.Lease), "lease", "how long the lease lasts (default the queue's lease)")
	flags.StringVar(&form.RequestID, "request-id", "", "names the request, so that it can be repeated")
	return cmd
}

// whyNothing returns why a lease got no items: the queue has no ready items, or the queue is paused.
func (c queueCommands) whyNothing(ctx context.Context, queue string, test bool) string {
	var form wire.QueueForm
	err := c.client().do(ctx, http.MethodGet, withQuery(queuePath(queue), twinQuery(test)), nil, &form)
	if err == nil && form.Paused {
		return named(queue, test) + " is paused: nothing is given out until it is resumed."
	}
	return "Nothing is ready."
}

func writeLeased(w io.Writer, items []wire.LeasedForm) {
	for i := range items {
		l := &items[i]
		fmt.Fprintf(w, "%s  attempt %d, priority %d, until %s\n", l.ID, l.Attempt, l.Priority, stamp(l.LeaseUntil))
		fmt.Fprintf(w, "  %s\n", terminal.JSONLine(l.Payload)) // The whole payload, because people copy it.
	}
}

func (c queueCommands) listItems(ctx context.Context, queue string, f listFlags) error {
	form, err := c.client().items(ctx, queue, f)
	if err != nil {
		return err
	}
	return c.print(form, func(w io.Writer) {
		if f.key != "" && len(form.Items) == 0 {
			fmt.Fprintf(w, "No item of %s has the dedupe key %s.\n", named(queue, f.test), f.key)
			return
		}
		writeItems(w, c.width(), item.State(f.state), form.Items)
		if form.Cursor != "" {
			fmt.Fprintf(w, "There are more: --limit 0 lists all, --after %s continues.\n", form.Cursor)
		}
	})
}

// items reads pages until it has as many items as the limit.
func (c *client) items(ctx context.Context, queue string, f listFlags) (*wire.ItemsForm, error) {
	all := &wire.ItemsForm{Items: []wire.ItemForm{}, Cursor: f.after}
	query := queryOf(map[string]string{"state": f.state, "key": f.key, "warehouse": f.warehouse})
	maps.Copy(query, twinQuery(f.test))
	for {
		size := item.MaxBatch
		if f.limit > 0 {
			size = min(size, f.limit-len(all.Items))
		}
		query.Set("limit", strconv.Itoa(size))
		if all.Cursor != "" {
			query.Set("after", all.Cursor)
		}
		var page wire.ItemsForm
		if err := c.do(ctx, http.MethodGet, withQuery(queuePath(queue, "items"), query), nil, &page); err != nil {
			return nil, err
		}
		all.Items, all.Cursor = append(all.Items, page.Items...), page.Cursor
		if page.Cursor == "" || f.limit > 0 && len(all.Items) >= f.limit {
			return all, nil
		}
	}
}

// writePeek writes the items that are served next, with their whole payloads.
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

func (c queueCommands) rank() *cobra.Command {
	var test bool
	return c.withTwin(&cobra.Command{
		Use:     "rank QUEUE ITEM",
		Short:   "Show the rank of a ready item: 1 is served next",
		Example: "  tallyman queue rank replenishment i_7k2m",
		Args:    takes("QUEUE", "ITEM"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, withQuery(queuePath(args[0], "items", args[1], "rank"), twinQuery(test)), nil, func(w io.Writer, form *wire.RankForm) {
				fmt.Fprintf(w, "%s is number %d of %s; its score is %d.\n", form.ID, form.Rank, named(args[0], test), form.Score)
			})
		},
	}, &test)
}

func (c queueCommands) peek() *cobra.Command {
	f := listFlags{state: string(item.Ready)}
	cmd := c.withTwin(&cobra.Command{
		Use:     "peek QUEUE",
		Short:   "Show the items that are served next, without a lease",
		Example: "  tallyman queue peek replenishment",
		Args:    takes("QUEUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.limit < 1 {
				return usage("--max takes the number of items to show, from 1 on")
			}
			form, err := c.client().items(cmd.Context(), args[0], f)
			if err != nil {
				return err
			}
			return c.print(form, func(w io.Writer) { writePeek(w, form.Items) })
		},
	}, &f.test)
	cmd.Flags().IntVar(&f.limit, "max", 1, "how many items")
	return cmd
}

// writeItems writes a line for each item of a state.
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

// gist returns a short text for a payload: the title, if the payload is a notice with a title, else the whole payload.
func gist(payload wire.Payload) string {
	var titled struct {
		Title string `json:"title"`
	}
	if json.Unmarshal(payload, &titled) == nil && titled.Title != "" {
		return terminal.OneLine(titled.Title)
	}
	return string(payload)
}

// payloadColumn is the column that may be cut.
const payloadColumn = "PAYLOAD"

// itemColumns returns the columns for items in this state, the most important first.
func itemColumns(state item.State) []itemColumn {
	var columns []itemColumn
	add := func(name string, cell func(*wire.ItemForm) string) { columns = append(columns, itemColumn{name, cell}) }
	payload := func() { add(payloadColumn, func(i *wire.ItemForm) string { return gist(i.Payload) }) }
	if state != "" && !state.Ended() && state != item.WithheldState {
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
	case item.WithheldState:
		payload()
		add("WITHHELD", func(i *wire.ItemForm) string { return when(i.Due) })
	case "": // Items that were found by key may be in any state.
		add("STATE", func(i *wire.ItemForm) string { return i.State })
		payload()
		add("CREATED", func(i *wire.ItemForm) string { return stamp(i.CreatedAt) })
	default:
		payload()
		add("CREATED", func(i *wire.ItemForm) string { return stamp(i.CreatedAt) })
	}
	return columns
}

// remaining returns how long an item is still leased, delayed, suspended or stored.
func remaining(i *wire.ItemForm) string {
	if i.RemainingSeconds == nil {
		return terminal.Nothing
	}
	return lasting(*i.RemainingSeconds)
}

// writeTraced writes an item and its trace.
func writeTraced(w io.Writer, width int, queue string, t *wire.TracedItemForm) {
	fmt.Fprintf(w, "%s in %s\n", t.ID, queue)
	terminal.Wrap(w, width, "  state     ", itemState(&t.ItemForm))
	for _, f := range []struct{ name, text string }{
		{"warehouse", t.Warehouse},
		{"for", t.Assignee},
		{"priority", strconv.Itoa(t.Priority)},
		{"order", t.Order},
		{"news", news(&t.ItemForm)},
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

// news says that a leased item has new content to take over when it waits again. Without new content news is empty.
func news(i *wire.ItemForm) string {
	if !i.News {
		return ""
	}
	return "the finding has sent new content; the item takes the new content when it waits again"
}

// writeTrace writes a line for each move, with the reason below the line.
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
		if m.To == string(item.Dead) { // Due is then the time of death.
			until = terminal.Nothing
		}
		rows[i] = []string{m.At.UTC().Format(traceTime), orDash(m.From), m.To, orDash(m.By), strconv.Itoa(m.Attempt), m.Node, until}
	}
	lines, leftOut := terminal.GridLines(width, "  ", header, rows, []string{"WHEN", "FROM", "TO", "ATTEMPT", "UNTIL"})
	fmt.Fprintln(w, lines[0])
	for i := range trace {
		m := &trace[i]
		fmt.Fprintln(w, lines[i+1])
		if m.Assignee != "" && (i == 0 || trace[i-1].Assignee != m.Assignee) {
			terminal.Wrap(w, width, belowTime, "only for "+m.Assignee)
		}
		if m.Revision != nil {
			terminal.Wrap(w, width, belowTime, revised(m.Revision))
		}
		if m.Note != "" {
			terminal.Wrap(w, width, belowTime, m.Note)
		}
	}
	terminal.LeftOut(w, "  ", leftOut)
}

// revised returns the new values of a changed item.
func revised(r *wire.RevisionForm) string {
	text := "priority " + strconv.Itoa(r.Priority)
	if r.Order != "" {
		text += ", order " + r.Order
	}
	if r.Payload {
		text += ", another payload"
	}
	if r.Later {
		text += ", when it waits again"
	}
	return text
}

// The times of a trace have milliseconds. Notes of a move stand below its states.
const (
	traceTime = "2006-01-02 15:04:05.000Z"
	belowTime = "                            "
)

// itemState returns the state of an item in words.
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
	default: // The other states have no further details.
	}
	return text
}
