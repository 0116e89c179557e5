package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"tallyman/internal/item"
	"tallyman/internal/wire"
)

// listFlags say which items are listed.
type listFlags struct {
	state     string
	warehouse string
	limit     int
	after     string
	test      bool
}

func (c *command) queueList() *cobra.Command {
	var f listFlags
	cmd := c.withTwin(&cobra.Command{
		Use:   "list [QUEUE]",
		Short: "List all queues and how full they are, or the items of one in a state",
		Long: `List all queues and how full they are, or the items of one in a state: ready in the order of service, what is leased or put off by the time
that remains, the dead by when they died, the ended with the latest push first. Nothing is taken.`,
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
				return usage("--state, --warehouse, --limit and --after list the items of a queue: name it")
			}
			return c.listQueues(cmd.Context(), f.test)
		},
	}, &f.test)
	cmd.Flags().StringVar(&f.state, "state", string(item.Ready), "ready, assigned, leased, delayed, suspended, stored, dead, done, removed or refused")
	cmd.Flags().StringVar(&f.warehouse, "warehouse", "", "of this warehouse alone")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "how many items at most; 0 = all")
	cmd.Flags().StringVar(&f.after, "after", "", "go on behind the list that ended with this cursor")
	return cmd
}

func (c *command) listQueues(ctx context.Context, test bool) error {
	var form wire.QueuesForm
	raw, err := c.client().ask(ctx, http.MethodGet, withQuery("/queues", twinQuery(test)), nil, &form)
	if err != nil {
		return err
	}
	return c.print(raw, func(w io.Writer) { writeQueues(w, c.width(), form.Queues) })
}

func (c *command) listItems(ctx context.Context, queue string, f listFlags) error {
	form, err := c.client().items(ctx, queue, f)
	if err != nil {
		return err
	}
	return c.print(form, func(w io.Writer) {
		writeItems(w, c.width(), item.State(f.state), form.Items)
		if form.Cursor != "" {
			fmt.Fprintf(w, "There are more: --limit 0 lists all, --after %s those that follow.\n", form.Cursor)
		}
	})
}

// items reads as many pages as the limit asks for.
func (c *client) items(ctx context.Context, queue string, f listFlags) (*wire.ItemsForm, error) {
	all := &wire.ItemsForm{Items: []wire.ItemForm{}, Cursor: f.after}
	query := twinQuery(f.test)
	query.Set("state", f.state)
	if f.warehouse != "" {
		query.Set("warehouse", f.warehouse)
	}
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
