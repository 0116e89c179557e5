package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// deliveryCommands are the commands about deliveries.
type deliveryCommands struct{ *command }

func (c deliveryCommands) deliveries() *cobra.Command {
	return group("deliveries", "Notices on their way to sinks: see, retry and cancel them",
		c.list(), c.causes(), c.show(), c.retry(), c.cancel())
}

// deliveryFlags narrow a list of deliveries.
type deliveryFlags struct {
	sink, warehouse, typ, rule, notice, cause string
	states                                    []string
}

// add adds the flags.
func (f *deliveryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.sink, "sink", "", "only to this sink")
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "only in this state: pending, sent, failed, timed_out or canceled; may be repeated")
	cmd.Flags().StringVar(&f.warehouse, "warehouse", "", "only of notices of this warehouse")
	cmd.Flags().StringVar(&f.typ, "type", "", "only of notices of this type")
	cmd.Flags().StringVar(&f.rule, "rule", "", "only of notices of this rule")
	cmd.Flags().StringVar(&f.notice, "notice", "", "only of this notice")
	cmd.Flags().StringVar(&f.cause, "cause", "", "only deliveries that failed for this cause; tallyman deliveries causes lists the causes")
}

func (f *deliveryFlags) form() wire.DeliveryFilterForm {
	return wire.DeliveryFilterForm{Sink: f.sink, State: f.states, Warehouse: f.warehouse, Type: f.typ, Rule: f.rule, Notice: f.notice, Cause: f.cause}
}

func (f *deliveryFlags) query() url.Values {
	query := queryOf(map[string]string{"sink": f.sink, "warehouse": f.warehouse, "type": f.typ, "rule": f.rule, "notice": f.notice, "cause": f.cause})
	if len(f.states) > 0 {
		query["state"] = f.states
	}
	return query
}

// causes returns the command that groups failed and timed out deliveries by cause.
func (c deliveryCommands) causes() *cobra.Command {
	var warehouse string
	cmd := c.withServer(&cobra.Command{
		Use:     "causes",
		Short:   "Group failed and timed-out deliveries by cause",
		Example: "  tallyman deliveries causes\n  tallyman deliveries retry --all --sink gateway --state failed --cause 503",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := withQuery("/deliveries/causes", queryOf(map[string]string{"warehouse": warehouse}))
			return show(cmd.Context(), c.command, http.MethodGet, path, nil, func(w io.Writer, list *wire.DeliveryCausesForm) { writeCauses(w, c.width(), list) })
		},
	})
	cmd.Flags().StringVar(&warehouse, "warehouse", "", "only of notices of this warehouse")
	return cmd
}

// writeCauses writes a line for each cause.
func writeCauses(w io.Writer, width int, list *wire.DeliveryCausesForm) {
	if len(list.Causes) == 0 {
		fmt.Fprintln(w, "No delivery has failed or timed out.")
		return
	}
	rows := make([][]string, len(list.Causes))
	for i := range list.Causes {
		d := &list.Causes[i]
		rows[i] = []string{strconv.FormatInt(d.Count, 10), d.Sink, d.State, d.Cause, orDash(d.LastError)}
	}
	terminal.Spread(w, width, []string{"COUNT", "SINK", "STATE", "CAUSE", "LAST ERROR"}, rows, []string{"COUNT", "STATE", "CAUSE"})
}

func (c deliveryCommands) list() *cobra.Command {
	var f deliveryFlags
	var limit int
	var after, order string
	cmd := c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List deliveries",
		Example: `  tallyman deliveries list --state failed --state timed_out
  tallyman deliveries list --sink gateway --state pending --limit 0
  tallyman deliveries list --notice n_7k2m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usage("--limit takes the number of deliveries to list, or 0 for all")
			}
			query := f.query()
			if order != "" {
				query.Set("order", order)
			}
			list, err := c.client().listDeliveries(cmd.Context(), query, limit, after)
			if err != nil {
				return err
			}
			return c.print(list, func(w io.Writer) { writeDeliveries(w, c.width(), list, time.Now()) })
		},
	})
	f.add(cmd)
	cmd.Flags().StringVar(&order, "order", "", "latest first (the default) or oldest")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many deliveries at most; 0 = all")
	cmd.Flags().StringVar(&after, "after", "", "continue after the list that ended with this cursor")
	return cmd
}

func (c deliveryCommands) show() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "show DELIVERY",
		Short:   "Show a delivery",
		Example: "  tallyman deliveries show 4711",
		Args:    takes("DELIVERY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := deliveryNumbers(args)
			if err != nil {
				return err
			}
			return show(cmd.Context(), c.command, http.MethodGet, deliveryPath(ids[0]), nil, func(w io.Writer, d *wire.DeliveryForm) {
				writeDelivery(w, d, time.Now())
				writeAttempts(w, c.width(), d.LastAttempts)
			})
		},
	})
}

// listDeliveries reads pages until it has limit deliveries. The limit 0 means all deliveries.
func (c *client) listDeliveries(ctx context.Context, query url.Values, limit int, after string) (*wire.DeliveriesForm, error) {
	const page = 1000
	all := &wire.DeliveriesForm{Deliveries: []wire.DeliveryForm{}, Cursor: after}
	for {
		size := page
		if limit > 0 {
			size = min(size, limit-len(all.Deliveries))
		}
		query.Set("limit", strconv.Itoa(size))
		if all.Cursor != "" {
			query.Set("after", all.Cursor)
		}
		var form wire.DeliveriesForm
		if err := c.do(ctx, http.MethodGet, withQuery("/deliveries", query), nil, &form); err != nil {
			return nil, err
		}
		all.Deliveries, all.Cursor = append(all.Deliveries, form.Deliveries...), form.Cursor
		if form.Cursor == "" || limit > 0 && len(all.Deliveries) >= limit {
			return all, nil
		}
	}
}

// moreDeliveries writes how to list the next deliveries.
func moreDeliveries(w io.Writer, cursor string) {
	if cursor != "" {
		fmt.Fprintf(w, "There are more: --limit 0 lists all, --after %s continues.\n", cursor)
	}
}

// writeDeliveries writes a line for each delivery.
func writeDeliveries(w io.Writer, width int, list *wire.DeliveriesForm, now time.Time) {
	if len(list.Deliveries) == 0 {
		fmt.Fprintln(w, "No deliveries match.")
		return
	}
	header := []string{"DELIVERY", "SINK", "STATE", "ATTEMPTS", "NEXT", "LAST ERROR", "TITLE", "WAREHOUSE", "AGE", "NOTICE"} // The most important columns come first.
	if width < roomForNotices {
		header = header[:len(header)-1]
	}
	rows := make([][]string, len(list.Deliveries))
	for i := range list.Deliveries {
		d := &list.Deliveries[i]
		rows[i] = []string{
			strconv.FormatInt(d.ID, 10), d.Sink, d.State, strconv.Itoa(d.Attempts), next(d, now), orDash(d.LastError), d.Title, d.Warehouse, until(now, d.CreatedAt), d.Notice,
		}
	}
	terminal.Spread(w, width, header, rows, []string{"DELIVERY", "STATE", "ATTEMPTS", "NEXT", "AGE", "NOTICE"})
	moreDeliveries(w, list.Cursor)
}

// roomForNotices is the width of the terminal, in columns, from which a table has room for the ids of notices.
const roomForNotices = 150

// next returns a short text with the time of the next attempt.
func next(d *wire.DeliveryForm, now time.Time) string {
	switch {
	case d.State != "pending":
		return terminal.Nothing
	case d.Node != "":
		return "now"
	case d.Behind:
		return "behind"
	case d.HeldBy != "":
		return "silenced"
	case d.NextAttempt == nil:
		return terminal.Nothing
	case !d.NextAttempt.After(now):
		return "due"
	}
	return "in " + until(*d.NextAttempt, now)
}

// writeDelivery writes one delivery.
func writeDelivery(w io.Writer, d *wire.DeliveryForm, now time.Time) {
	fmt.Fprintf(w, "Delivery %d to %s: %s\n", d.ID, d.Sink, d.State)
	from := "rule " + d.Rule
	if d.Rule == "" {
		from = "a business system"
	}
	section(w, 10, [][2]string{
		{"notice", d.Notice + " (" + d.Status + ")"},
		{"title", terminal.OneLine(d.Title)},
		{"of", from + ", type " + d.Type + ", warehouse " + d.Warehouse},
		{"to", strings.Join(d.Recipients, ", ")},
		{"strategy", strategyText(d.Strategy)},
		{"attempts", strconv.Itoa(d.Attempts)},
		{"last error", terminal.OneLine(d.LastError)},
		{"next", nextLong(d, now)},
		{"deadline", at(d.Deadline, now)},
		{"created", stamp(d.CreatedAt)},
		{"expires", at(d.ExpiresAt, now)},
		{"sent", at(d.SentAt, now)},
	})
}

// writeAttempts writes a line for each attempt, with the error below the line.
func writeAttempts(w io.Writer, width int, list []wire.AttemptForm) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, "\nThe last attempts, the latest first")
	rows := make([][]string, len(list))
	for i := range list {
		a := &list[i]
		rows[i] = []string{a.At.UTC().Format(traceTime), terminal.Nothing, terminal.Nothing}
		if a.DurationMS > 0 {
			rows[i][1] = (time.Duration(a.DurationMS) * time.Millisecond).String()
		}
		if a.Status > 0 {
			rows[i][2] = strconv.Itoa(a.Status)
		}
	}
	header := []string{"WHEN", "TOOK", "STATUS"}
	lines, _ := terminal.GridLines(width, "  ", header, rows, header)
	fmt.Fprintln(w, lines[0])
	for i := range list {
		fmt.Fprintln(w, lines[i+1])
		if list[i].Error != "" {
			terminal.Wrap(w, width, belowTime, list[i].Error)
		}
	}
}

func nextLong(d *wire.DeliveryForm, now time.Time) string {
	switch {
	case d.State != "pending":
		return ""
	case d.Node != "":
		return "node " + d.Node + " is trying the delivery now"
	case d.Behind:
		return "after the earlier delivery of the same finding"
	case d.HeldBy != "":
		return "silence " + d.HeldBy + " holds the delivery back; the next check is at " + at(d.NextAttempt, now)
	case d.NextAttempt == nil:
		return "as soon as the sink takes it"
	case !d.NextAttempt.After(now):
		return "due since " + stamp(*d.NextAttempt) + "; sinks show " + d.Sink + " says whether the sink is held back"
	}
	return at(d.NextAttempt, now)
}

// strategyText returns a strategy in the form of a rule file.
func strategyText(s *wire.StrategyForm) string {
	if s == nil {
		return "tried until it succeeds"
	}
	text := s.Kind
	if s.Delay != "" {
		text += ", delay " + s.Delay
	}
	if s.At != nil {
		text += ", at " + stamp(*s.At)
	}
	if s.Within != "" {
		text += ", within " + s.Within
	}
	if s.Retry > 0 {
		text += ", retry " + strconv.Itoa(s.Retry)
	}
	if s.Unless != "" {
		text += ", unless " + s.Unless
	}
	if s.Until != "" {
		text += ", until " + s.Until
	}
	return text
}
