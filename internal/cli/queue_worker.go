package cli

import (
	"github.com/spf13/cobra"

	"tallyman/internal/item"
)

func (c *command) queueAck() *cobra.Command {
	return c.op(opCommand{
		kind: item.Ack, attempt: needsAttempt, short: "The work on an item is done",
		example: "  tallyman queue ack replenishment i_7k2m --attempt 1",
	}, &opFlags{}, nil)
}

func (c *command) queueNack() *cobra.Command {
	f := &opFlags{}
	cmd := c.op(opCommand{
		kind: item.Nack, attempt: needsAttempt, short: "The work on an item has failed: it is ready again, or dead after max_attempts failures",
		example: "  tallyman queue nack replenishment i_7k2m --attempt 1 --delay 10m --note 'bin is blocked'",
	}, f, nil)
	cmd.Flags().Var((*span)(&f.form.Delay), "delay", "before it is ready again, such as 10m")
	return cmd
}

func (c *command) queueRelease() *cobra.Command {
	return c.op(opCommand{
		kind: item.Release, attempt: needsAttempt, short: "Give an item back that was not begun: to the head of its level, without a failure",
	}, &opFlags{}, nil)
}

func (c *command) queueExtend() *cobra.Command {
	f := &opFlags{}
	cmd := c.op(opCommand{kind: item.Extend, attempt: needsAttempt, short: "Keep an item longer"}, f, nil)
	cmd.Flags().Var((*span)(&f.form.Lease), "lease", "the lease ends that long from now (default the queue's lease)")
	return cmd
}

func (c *command) queueSuspend() *cobra.Command {
	return c.op(opCommand{
		kind: item.Suspend, attempt: mayAttempt, short: "Put items off for the next of the queue's suspend steps",
		long: `Put items off: the first time for the first of the queue's suspend_steps, then for the second. When all are used, store or finish the item.

A worker names the attempt of its lease; without one, items are put off that no worker has.`,
	}, &opFlags{}, nil)
}

func (c *command) queueStore() *cobra.Command {
	f := &opFlags{}
	cmd := c.op(opCommand{
		kind: item.Store, attempt: mayAttempt, short: "Put items away for days; their suspends count anew",
		long: `Put items away for days; their suspends count anew.

A worker names the attempt of its lease; without one, items are put away that no worker has.`,
		example: "  tallyman queue store replenishment i_7k2m --days 3",
	}, f, func() error {
		if (f.form.Days != 0) == (f.form.Delay != "") {
			return usage("say for how long: --days 3, or --delay 36h, and not both")
		}
		return nil
	})
	cmd.Flags().IntVar(&f.form.Days, "days", 0, "for how many days, 1 to 366")
	cmd.Flags().Var((*span)(&f.form.Delay), "delay", "for how long, instead of --days")
	return cmd
}
