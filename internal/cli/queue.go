package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/item"
	"tallyman/internal/wire"
)

// queueCommands are the commands about queues and their items.
type queueCommands struct{ *command }

func (c queueCommands) queue() *cobra.Command {
	return group("queue", "Work queues: look at items, and do what workers and operators do",
		c.list(), c.show(), c.find(), c.peek(), c.rank(),
		c.push(), c.lease(),
		c.ack(), c.nack(), c.release(), c.extend(), c.suspend(), c.store(),
		c.finish(), c.assign(), c.remove(), c.requeue(), c.set(),
		c.pause(), c.resume(), c.settings(),
	)
}

// withTwin adds the flags of commands that work on a queue.
func (c queueCommands) withTwin(cmd *cobra.Command, test *bool) *cobra.Command {
	cmd.Flags().BoolVar(test, "test", false, "work on the queue's test twin")
	return c.withServer(cmd)
}

// queuePath returns the path of a queue in the API, or a path below the queue.
func queuePath(queue string, parts ...string) string {
	segments := []string{"/queues", url.PathEscape(queue)}
	for _, p := range parts {
		segments = append(segments, url.PathEscape(p))
	}
	return strings.Join(segments, "/")
}

// twinQuery returns the query that selects the queue or its test twin.
func twinQuery(test bool) url.Values {
	query := url.Values{}
	if test {
		query.Set("test", "true")
	}
	return query
}

// named returns the name of the queue or of its test twin, for people.
func named(queue string, test bool) string {
	if test {
		return queue + " (test twin)"
	}
	return queue
}

// listFlags are the flags that select items.
type listFlags struct {
	state     string
	key       string // instead of a state
	warehouse string
	limit     int
	after     string
	test      bool
}

func (c queueCommands) list() *cobra.Command {
	var f listFlags
	cmd := c.withTwin(&cobra.Command{
		Use:   "list [QUEUE]",
		Short: "List all queues with their counts, or the items of one queue in a state",
		Long: `List all queues with their counts, or the items of one queue in a state. Ready items come in the order of service, leased and put-off items by the
time that remains, dead items by the time of death, and ended items with the latest push first. The command takes no item.`,
		Example: `  tallyman queue list
  tallyman queue list replenishment --state suspended`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && f.limit < 0:
				return usage("--limit takes the number of items to list, or 0 for all")
			case len(args) == 1:
				return c.listItems(cmd.Context(), args[0], f)
			case anyFlag(cmd, "state", "warehouse", "limit", "after"):
				return usage("--state, --warehouse, --limit and --after list the items of a queue: give its name")
			}
			return show(cmd.Context(), c.command, http.MethodGet, withQuery("/queues", twinQuery(f.test)), nil, func(w io.Writer, form *wire.QueuesForm) {
				writeQueues(w, c.width(), form.Queues)
			})
		},
	}, &f.test)
	cmd.Flags().StringVar(&f.state, "state", string(item.Ready), "ready, assigned, leased, delayed, suspended, stored, dead, withheld (dead since the ledger was restored), done, removed or refused")
	cmd.Flags().StringVar(&f.warehouse, "warehouse", "", "only items of this warehouse")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "how many items at most; 0 = all")
	cmd.Flags().StringVar(&f.after, "after", "", "continue after the list that ended with this cursor")
	return cmd
}

func (c queueCommands) find() *cobra.Command {
	var f listFlags
	cmd := c.withTwin(&cobra.Command{
		Use:   "find QUEUE KEY",
		Short: "Find the items that were pushed with a dedupe key, in any state",
		Long: `Find the items that were pushed with a dedupe key, in any state, the latest push first. The dedupe key of an item of a finding is
its rule, scope and key with blanks between them.`,
		Example: "  tallyman queue find replenishment A-01",
		Args:    takes("QUEUE", "KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.limit < 0 {
				return usage("--limit takes the number of items to list, or 0 for all")
			}
			f.key = args[1]
			return c.listItems(cmd.Context(), args[0], f)
		},
	}, &f.test)
	cmd.Flags().StringVar(&f.warehouse, "warehouse", "", "only items of this warehouse")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "how many items at most; 0 = all")
	cmd.Flags().StringVar(&f.after, "after", "", "continue after the list that ended with this cursor")
	return cmd
}

func (c queueCommands) show() *cobra.Command {
	var test bool
	return c.withTwin(&cobra.Command{
		Use:   "show QUEUE [ITEM]",
		Short: "Show the counts of a queue, or an item with its trace",
		Example: `  tallyman queue show replenishment
  tallyman queue show replenishment i_7k2m`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return takes("QUEUE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			query, ctx := twinQuery(test), cmd.Context()
			if len(args) == 1 {
				return show(ctx, c.command, http.MethodGet, withQuery(queuePath(args[0]), query), nil, func(w io.Writer, form *wire.QueueForm) {
					writeQueue(w, c.width(), form)
				})
			}
			return show(ctx, c.command, http.MethodGet, withQuery(queuePath(args[0], "items", args[1]), query), nil, func(w io.Writer, form *wire.TracedItemForm) {
				writeTraced(w, c.width(), named(args[0], test), form)
			})
		},
	}, &test)
}

func (c queueCommands) pause() *cobra.Command {
	return c.queueSwitch("pause", "Pause a queue on every node: no worker gets an item; leased items and pushes go on", "%s is paused.\n")
}

func (c queueCommands) resume() *cobra.Command {
	return c.queueSwitch("resume", "Resume a paused queue: workers get items again", "%s gives out items.\n")
}

func (c queueCommands) queueSwitch(verb, short, said string) *cobra.Command {
	var test bool
	return c.withTwin(&cobra.Command{
		Use: verb + " QUEUE", Short: short, Example: "  tallyman queue " + verb + " replenishment", Args: takes("QUEUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), c.command, http.MethodPost, queuePath(args[0], verb), wire.TwinForm{Test: test}, func(w io.Writer, form *wire.QueueForm) {
				fmt.Fprintf(w, said, named(form.Name, form.Test))
			})
		},
	}, &test)
}

// writeQueues writes a line for each queue.
func writeQueues(w io.Writer, width int, queues []wire.QueueForm) {
	if len(queues) == 0 {
		fmt.Fprintln(w, "There is no queue: the configuration has no sink of type queue.")
		return
	}
	header := []string{"QUEUE", "READY", "OLDEST", "LEASED", "DEAD", "PAUSED", "SUSPENDED", "STORED", "DELAYED", "ASSIGNED"} // The most important columns come first.
	rows := make([][]string, len(queues))
	for i := range queues {
		q := &queues[i]
		levels, oldest := ready(q.Levels)
		paused := "no"
		if q.Paused {
			paused = "yes"
		}
		n := func(n int64) string { return strconv.FormatInt(n, 10) }
		rows[i] = []string{q.Name, levels, oldest, n(q.Leased), n(q.Dead), paused, n(q.Suspended), n(q.Stored), n(q.Delayed), n(q.Assigned)}
	}
	terminal.Spread(w, width, header, rows, header)
}

// ready returns the numbers of ready items, as priority:number without the zeros, and the age of the oldest item.
func ready(levels []wire.LevelForm) (counts, oldest string) {
	var list []string
	var longest *wire.LevelForm
	for i := range levels {
		l := &levels[i]
		if l.Ready > 0 {
			list = append(list, fmt.Sprintf("%d:%d", l.Priority, l.Ready))
		}
		if l.Oldest != nil && (longest == nil || l.OldestSeconds > longest.OldestSeconds) {
			longest = l
		}
	}
	if longest == nil {
		return orDash(strings.Join(list, " ")), terminal.Nothing
	}
	return orDash(strings.Join(list, " ")), age(longest)
}

// writeQueue writes one queue with its levels and its settings.
func writeQueue(w io.Writer, width int, q *wire.QueueForm) {
	fmt.Fprintln(w, named(q.Name, q.Test))
	if q.Paused {
		text := "nothing is given out"
		if q.PausedAt != nil {
			text = "since " + stamp(*q.PausedAt)
		}
		if q.PausedBy != "" {
			text += ", by " + q.PausedBy
		}
		fmt.Fprintln(w, "  paused     "+text)
	}
	for _, n := range []struct {
		name  string
		count int64
		note  string
	}{
		{"ready", q.Ready, ""},
		{"assigned", q.Assigned, "ready for one worker only"},
		{"leased", q.Leased, ""},
		{"delayed", q.Delayed, ""},
		{"suspended", q.Suspended, ""},
		{"stored", q.Stored, ""},
		{"dead", q.Dead, "failed too often"},
	} {
		line := fmt.Sprintf("  %-9s  %d", n.name, n.count)
		if n.count > 0 && n.note != "" {
			line += "  (" + n.note + ")"
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "\nReady by priority")
	rows := make([][]string, len(q.Levels))
	for i, l := range q.Levels {
		rows[i] = []string{strconv.Itoa(l.Priority), strconv.FormatInt(l.Ready, 10), age(&l)}
	}
	terminal.Grid(w, width, "  ", []string{"PRIORITY", "READY", "OLDEST"}, rows)
	writeWarehouses(w, width, q.Warehouses)
	writeSettings(w, &q.Settings)
}

// writeWarehouses writes the number of items of each warehouse.
func writeWarehouses(w io.Writer, width int, list []wire.DepthForm) {
	if len(list) == 0 || len(list) == 1 && list[0].Warehouse == "" {
		return
	}
	fmt.Fprintln(w, "\nBy warehouse")
	header := []string{"WAREHOUSE", "READY", "LEASED", "DEAD", "SUSPENDED", "STORED", "DELAYED", "ASSIGNED"}
	rows := make([][]string, len(list))
	for i, d := range list {
		n := func(n int64) string { return strconv.FormatInt(n, 10) }
		rows[i] = []string{orDash(d.Warehouse), n(d.Ready), n(d.Leased), n(d.Dead), n(d.Suspended), n(d.Stored), n(d.Delayed), n(d.Assigned)}
	}
	terminal.Grid(w, width, "  ", header, rows)
}

func writeSettings(w io.Writer, s *wire.SettingsForm) {
	fmt.Fprintln(w, "\nSettings")
	for _, f := range append([]settingText{{"timezone", s.Timezone}, {"dedupe", s.Dedupe}}, settingTexts(s)...) {
		fmt.Fprintf(w, "  %-13s  %s\n", f.name, f.text)
	}
	if e := s.Events; e != nil {
		fmt.Fprintf(w, "  %-13s  %s to %s\n", "events", strings.Join(e.On, ", "), e.Sink)
	}
}

// age returns how long the oldest item of a level has been ready, or "-" for an empty level.
func age(l *wire.LevelForm) string {
	if l.Oldest == nil {
		return terminal.Nothing
	}
	return lasting(int64(l.OldestSeconds))
}
