package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"tallyman/internal/item"
	"tallyman/internal/wire"
)

func (c *command) queueShow() *cobra.Command {
	var test bool
	return c.withTwin(&cobra.Command{
		Use:   "show QUEUE [ITEM]",
		Short: "Show how full a queue is, or an item and everything that has happened to it",
		Example: `  tallyman queue show replenishment
  tallyman queue show replenishment i_7k2m`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return takes("QUEUE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return c.showItem(cmd.Context(), args[0], args[1], test)
			}
			return c.showQueue(cmd.Context(), args[0], test)
		},
	}, &test)
}

func (c *command) showQueue(ctx context.Context, queue string, test bool) error {
	var form wire.QueueForm
	raw, err := c.client().ask(ctx, http.MethodGet, withQuery(queuePath(queue), twinQuery(test)), nil, &form)
	if err != nil {
		return err
	}
	return c.print(raw, func(w io.Writer) { writeQueue(w, c.width(), &form) })
}

func (c *command) showItem(ctx context.Context, queue, id string, test bool) error {
	var form wire.TracedItemForm
	raw, err := c.client().ask(ctx, http.MethodGet, withQuery(queuePath(queue, "items", id), twinQuery(test)), nil, &form)
	if err != nil {
		return err
	}
	return c.print(raw, func(w io.Writer) { writeTraced(w, c.width(), named(queue, test), &form) })
}

func (c *command) queuePeek() *cobra.Command {
	f := listFlags{state: string(item.Ready)}
	cmd := c.withTwin(&cobra.Command{
		Use:   "peek QUEUE",
		Short: "Show what is served next, and take nothing",
		Args:  takes("QUEUE"),
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

func (c *command) queueRank() *cobra.Command {
	var test bool
	return c.withTwin(&cobra.Command{
		Use:   "rank QUEUE ITEM",
		Short: "Show when a ready item is served: 1 is next",
		Args:  takes("QUEUE", "ITEM"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var form wire.RankForm
			raw, err := c.client().ask(cmd.Context(), http.MethodGet, withQuery(queuePath(args[0], "items", args[1], "rank"), twinQuery(test)), nil, &form)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) {
				fmt.Fprintf(w, "%s is number %d of %s; its score is %d.\n", form.ID, form.Rank, named(args[0], test), form.Score)
			})
		},
	}, &test)
}
