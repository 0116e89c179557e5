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

func (c *command) queueFinish() *cobra.Command {
	return c.op(opCommand{kind: item.Finish, short: "End items that no worker has: their work is done"}, &opFlags{}, nil)
}

func (c *command) queueAssign() *cobra.Command {
	f := &opFlags{}
	var worker string
	var anybody bool
	cmd := c.op(opCommand{
		kind: item.Assign, attempt: mayAttempt, short: "Let one worker alone have items, or anybody again",
		long: `Let one worker alone have items, or anybody again. An item that is delayed, suspended or stored keeps its time. One that a worker has is
refused, unless the worker passes it on with --attempt.

Who gets it is <subject>/<worker>, a device of a token's subject, or <subject>, all its devices. A server without tokens knows workers alone.`,
		example: `  tallyman queue assign replenishment i_7k2m --worker packer-7
  tallyman queue assign replenishment i_7k2m --worker service:wms/packer-7
  tallyman queue assign replenishment i_7k2m --worker user:ann
  tallyman queue assign replenishment i_7k2m --anybody
  tallyman queue assign replenishment i_7k2m --attempt 2 --worker packer-8`,
	}, f, func() error {
		if anybody == (worker != "") {
			return usage("say who gets them: --worker NAME, or --anybody, and not both")
		}
		f.form.Worker = &worker
		return nil
	})
	cmd.Flags().StringVar(&worker, "worker", "", "who alone gets them")
	cmd.Flags().BoolVar(&anybody, "anybody", false, "any worker gets them")
	return cmd
}

func (c *command) queueRemove() *cobra.Command {
	f := &opFlags{}
	var in wire.RangeForm
	cmd := c.op(opCommand{
		kind: item.Remove, short: "Take items out: some by name, or a range of a state",
		long: `Take items out: some by name, or a range of a state. One that a worker has is refused without --force.

A range counts from 1 in the order of "queue list QUEUE --state STATE", as it is at that moment: pause the queue first where it moves.`,
		example: `  tallyman queue remove replenishment i_7k2m i_9x1c
  tallyman queue remove replenishment --state dead --from 1 --to 100`,
	}, f, nil)
	byName := cmd.RunE
	cmd.Use = "remove QUEUE ITEM… | QUEUE --state STATE --from N --to M"
	cmd.Args = nil
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !anyFlag(cmd, "state", "from", "to", "warehouse") {
			return instead(cmd, args, byName)
		}
		if err := takes("QUEUE")(cmd, args); err != nil {
			return err
		}
		switch {
		case in.State == "" || in.From < 1 || in.To < in.From:
			return usage("a range takes --state, --from and --to, with ranks from 1 on")
		case anyFlag(cmd, "force", "note"):
			return usage("--force and --note are of items that are named")
		}
		in.Test = f.test
		return c.removeRange(cmd.Context(), args[0], in)
	}
	cmd.Flags().BoolVar(&f.form.Force, "force", false, "even what a worker has; its lease is lost")
	cmd.Flags().StringVar(&in.Warehouse, "warehouse", "", "of a range: of this warehouse alone, as the list with the same flag")
	cmd.Flags().StringVar(&in.State, "state", "", "of a range: ready, assigned, delayed, suspended, stored or dead")
	cmd.Flags().Int64Var(&in.From, "from", 0, "of a range: the rank of the first")
	cmd.Flags().Int64Var(&in.To, "to", 0, "of a range: the rank of the last")
	return cmd
}

func (c *command) removeRange(ctx context.Context, queue string, in wire.RangeForm) error {
	var done wire.RemovedForm
	if err := c.client().do(ctx, http.MethodPost, queuePath(queue, "remove"), in, &done); err != nil {
		return err
	}
	return c.print(done, func(w io.Writer) { fmt.Fprintf(w, "Removed %s.\n", count(done.Removed, "item")) })
}

func (c *command) queueRequeue() *cobra.Command {
	f := &opFlags{}
	var all bool
	cmd := c.op(opCommand{
		kind: item.Requeue, short: "Make dead items ready again: some by name, or all; their failures count anew",
		example: `  tallyman queue requeue replenishment i_7k2m
  tallyman queue requeue replenishment --all`,
	}, f, nil)
	byName := cmd.RunE
	cmd.Use = "requeue QUEUE ITEM… | QUEUE --all"
	cmd.Args = nil
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !all {
			return instead(cmd, args, byName)
		}
		if err := takes("QUEUE")(cmd, args); err != nil {
			return err
		}
		if anyFlag(cmd, "note") {
			return usage("--note is of items that are named")
		}
		return c.requeueAll(cmd.Context(), args[0], f.test)
	}
	cmd.Flags().BoolVar(&all, "all", false, "every dead item")
	return cmd
}

func (c *command) requeueAll(ctx context.Context, queue string, test bool) error {
	var done wire.RequeuedForm
	if err := c.client().do(ctx, http.MethodPost, queuePath(queue, "requeue"), wire.RequeueForm{All: true, Test: test}, &done); err != nil {
		return err
	}
	return c.print(done, func(w io.Writer) { fmt.Fprintf(w, "Requeued %s.\n", count(done.Requeued, "item")) })
}

// instead runs the command on the items that are named.
func instead(cmd *cobra.Command, args []string, byName func(*cobra.Command, []string) error) error {
	if err := takesItems(cmd, args); err != nil {
		return err
	}
	return byName(cmd, args)
}

// anyFlag tells whether one of the flags was given.
func anyFlag(cmd *cobra.Command, names ...string) bool {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

func (c *command) queuePause() *cobra.Command {
	return c.queueSwitch("pause", "Give out nothing more, on every node; what is leased goes on, and items are taken in", "%s is paused.\n")
}

func (c *command) queueResume() *cobra.Command {
	return c.queueSwitch("resume", "Give out items again", "%s gives out items.\n")
}

func (c *command) queueSwitch(verb, short, said string) *cobra.Command {
	var test bool
	return c.withTwin(&cobra.Command{
		Use: verb + " QUEUE", Short: short, Args: takes("QUEUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var form wire.QueueForm
			raw, err := c.client().ask(cmd.Context(), http.MethodPost, queuePath(args[0], verb), wire.TwinForm{Test: test}, &form)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { fmt.Fprintf(w, said, named(form.Name, form.Test)) })
		},
	}, &test)
}
