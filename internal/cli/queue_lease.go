package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/item"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

func (c *command) queueLease() *cobra.Command {
	var form wire.LeaseForm
	cmd := c.withTwin(&cobra.Command{
		Use:   "lease QUEUE --worker NAME",
		Short: "Take items to work on: the highest priority first, in each the oldest first",
		Long: `Take items to work on: the highest priority first, in each the oldest first. They are the worker's until the lease ends; ack, nack, extend and the
like name the attempt that is shown. A request that is repeated under the same id gets the same answer, and nothing is taken twice.`,
		Example: "  tallyman queue lease replenishment --worker packer-7 --max 10 --wait 25s",
		Args:    takes("QUEUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case form.Worker == "":
				return usage("%s takes --worker: who asks", cmd.CommandPath())
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
	flags.StringVar(&form.Worker, "worker", "", "who asks: a name that no other worker of the queue has")
	flags.IntVar(&form.Max, "max", 1, "how many items at most")
	flags.Var((*span)(&form.Wait), "wait", "how long to wait for the first item, 60s at most")
	flags.Var((*span)(&form.Lease), "lease", "how long they are the worker's (default the queue's lease)")
	flags.StringVar(&form.RequestID, "request-id", "", "names the request, so that it can be repeated")
	return cmd
}

// whyNothing tells people who were given nothing whether there was nothing, or nothing may be given.
func (c *command) whyNothing(ctx context.Context, queue string, test bool) string {
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
		fmt.Fprintf(w, "  %s\n", terminal.JSONLine(l.Payload)) // as it is: who copies it must get all of it
	}
}
