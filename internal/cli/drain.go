package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/wire"
)

// drainCommands take a node out of service.
type drainCommands struct{ *command }

func (c drainCommands) drain() *cobra.Command {
	var wait time.Duration
	cmd := c.withServer(&cobra.Command{
		Use:   "drain [NODE]",
		Short: "Take a node out of service before it is stopped, or show whether it goes out of service",
		Long: `Take a node out of service before it is stopped. NODE is the name of the node in tallyman status. Without NODE the command shows the state.

The node answers /readyz with 503 and begins nothing new. It finishes its runs and gives its lanes back, so that other nodes do its work. After node.drain_delay its
streams and waiting polls end, and their clients go on at another node. The process goes on to answer until somebody stops it. Only a new start brings the node back
into service.

Name the address of the node with --server, not that of a load balancer: another node refuses the request. A stop by SIGTERM does the same by itself.`,
		Example: `  tallyman drain wms-2 --server http://wms-2:8080
  tallyman drain --server http://wms-2:8080`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return show(cmd.Context(), c.command, http.MethodGet, "/drain", nil, writeDrain)
			}
			form, err := c.await(cmd.Context(), args[0], wait)
			if err != nil {
				return err
			}
			if err := c.print(form, func(w io.Writer) { writeDrain(w, form) }); err != nil {
				return err
			}
			if form.State != wire.DrainDone && wait > 0 {
				return fmt.Errorf("node %s has not drained within %s; tallyman drain shows when it has", form.Node, wait)
			}
			return nil
		},
	})
	cmd.Flags().DurationVar(&wait, "wait", time.Minute, "how long the command waits until the node is drained; 0s = not at all")
	return cmd
}

// await asks for the drain and waits until it is done, or the time is over.
func (c drainCommands) await(ctx context.Context, node string, wait time.Duration) (*wire.DrainForm, error) {
	form := &wire.DrainForm{}
	if err := c.client().do(ctx, http.MethodPost, "/drain", &wire.DrainAskForm{Node: node}, form); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(wait)
	for form.State != wire.DrainDone && time.Now().Before(deadline) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(time.Second, time.Until(deadline))):
		}
		if err := c.client().do(ctx, http.MethodGet, "/drain", nil, form); err != nil {
			return nil, err
		}
	}
	return form, nil
}

// writeDrain writes the state of the drain.
func writeDrain(w io.Writer, form *wire.DrainForm) {
	switch form.State {
	case wire.DrainDone:
		fmt.Fprintf(w, "Node %s is drained. Stop the process now.\n", form.Node)
	case wire.DrainRuns:
		fmt.Fprintf(w, "Node %s drains since %s.\n", form.Node, form.Since.Format(time.RFC3339))
	default:
		fmt.Fprintf(w, "Node %s is in service.\n", form.Node)
	}
}
