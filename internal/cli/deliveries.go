package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/wire"
)

func (c *command) deliveries() *cobra.Command {
	return group("deliveries", "Notices on their way to sinks: see, retry and cancel them",
		c.deliveriesList(), c.deliveriesShow(), c.deliveriesRetry(), c.deliveriesCancel())
}

// deliveryFlags narrow a list of deliveries.
type deliveryFlags struct {
	sink, warehouse, typ, rule, notice string
	states                             []string
}

// add adds the flags.
func (f *deliveryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.sink, "sink", "", "only to this sink")
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "only in this state: pending, sent, failed, timed_out or canceled; may be repeated")
	cmd.Flags().StringVar(&f.warehouse, "warehouse", "", "only of notices of this warehouse")
	cmd.Flags().StringVar(&f.typ, "type", "", "only of notices of this type")
	cmd.Flags().StringVar(&f.rule, "rule", "", "only of notices of this rule")
	cmd.Flags().StringVar(&f.notice, "notice", "", "only of this notice")
}

func (f *deliveryFlags) form() wire.DeliveryFilterForm {
	return wire.DeliveryFilterForm{Sink: f.sink, State: f.states, Warehouse: f.warehouse, Type: f.typ, Rule: f.rule, Notice: f.notice}
}

func (f *deliveryFlags) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"sink": f.sink, "warehouse": f.warehouse, "type": f.typ, "rule": f.rule, "notice": f.notice} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for _, s := range f.states {
		query.Add("state", s)
	}
	return query
}

func (c *command) deliveriesList() *cobra.Command {
	var f deliveryFlags
	var limit int
	var before int64
	cmd := c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List deliveries, the latest first",
		Example: `  tallyman deliveries list --state failed --state timed_out
  tallyman deliveries list --sink gateway --state pending --limit 0
  tallyman deliveries list --notice n_7k2m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usage("--limit takes the number of deliveries to list, or 0 for all")
			}
			list, err := c.client().listDeliveries(cmd.Context(), f.query(), limit, before)
			if err != nil {
				return err
			}
			return c.print(list, func(w io.Writer) { writeDeliveries(w, c.width(), list, time.Now()) })
		},
	})
	f.add(cmd)
	cmd.Flags().IntVar(&limit, "limit", 50, "how many deliveries at most; 0 = all")
	cmd.Flags().Int64Var(&before, "before", 0, "go on behind the list that ended with this number")
	return cmd
}

func (c *command) deliveriesShow() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "show DELIVERY",
		Short:   "Show a delivery",
		Example: "  tallyman deliveries show 4711",
		Args:    takes("DELIVERY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := deliveryPath(args[0])
			if err != nil {
				return err
			}
			var d wire.DeliveryForm
			raw, err := c.client().ask(cmd.Context(), http.MethodGet, path, nil, &d)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { writeDelivery(w, &d, time.Now()) })
		},
	})
}

func deliveryPath(id string) (string, error) {
	if n, err := strconv.ParseInt(id, 10, 64); err != nil || n < 1 {
		return "", usage("%q is not the number of a delivery; deliveries list shows them", id)
	}
	return "/deliveries/" + id, nil
}

// listDeliveries reads as many pages as the limit asks for; 0 is all.
func (c *client) listDeliveries(ctx context.Context, query url.Values, limit int, before int64) (*wire.DeliveriesForm, error) {
	const page = 1000
	all := &wire.DeliveriesForm{Deliveries: []wire.DeliveryForm{}, Before: before}
	for {
		size := page
		if limit > 0 {
			size = min(size, limit-len(all.Deliveries))
		}
		query.Set("limit", strconv.Itoa(size))
		if all.Before > 0 {
			query.Set("before", strconv.FormatInt(all.Before, 10))
		}
		var form wire.DeliveriesForm
		if err := c.do(ctx, http.MethodGet, withQuery("/deliveries", query), nil, &form); err != nil {
			return nil, err
		}
		all.Deliveries, all.Before = append(all.Deliveries, form.Deliveries...), form.Before
		if form.Before == 0 || limit > 0 && len(all.Deliveries) >= limit {
			return all, nil
		}
	}
}

// moreDeliveries says how to see the rest.
func moreDeliveries(w io.Writer, before int64) {
	if before > 0 {
		fmt.Fprintf(w, "There are more: --limit 0 lists all, --before %d those that follow.\n", before)
	}
}
