package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"tallyman/internal/item"
	"tallyman/internal/wire"
)

// opCommand describes a command with one operation for one or several items.
type opCommand struct {
	kind        item.OpKind
	short, long string
	example     string
	attempt     attemptUse
}

// attemptUse says whether an operation takes the attempt of a lease.
type attemptUse int

const (
	noAttempt    attemptUse = iota // an operation of operators
	mayAttempt                     // an operation of operators; with an attempt, of the worker with the lease
	needsAttempt                   // an operation of workers
)

// opsPerRequest is the number of operations in a request. With the longest notes such a request is still well below the
// server's limit.
const opsPerRequest = 200

// opFlags are the flags of an operation.
type opFlags struct {
	form   wire.OpForm
	worker string
	test   bool
}

// op makes the command of an operation. The caller adds the flags of the operation. ready checks these flags before the
// request; it may be nil.
func (c queueCommands) op(o opCommand, f *opFlags, ready func() error) *cobra.Command {
	f.form.Op = string(o.kind)
	use, args := f.form.Op+" QUEUE ITEM…", takesItems
	if o.attempt == needsAttempt {
		use, args = f.form.Op+" QUEUE ITEM --attempt N", takes("QUEUE", "ITEM")
	}
	cmd := c.withTwin(&cobra.Command{
		Use: use, Short: o.short, Long: o.long, Example: o.example, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkAttempt(cmd, o.attempt, f.form.Attempt, len(args)-1); err != nil {
				return err
			}
			if ready != nil {
				if err := ready(); err != nil {
					return err
				}
			}
			return c.operate(cmd.Context(), args[0], args[1:], f)
		},
	}, &f.test)
	if o.attempt != noAttempt {
		cmd.Flags().IntVar(&f.form.Attempt, "attempt", 0, "the attempt number that came with the lease")
	}
	if o.attempt != noAttempt && o.kind != item.Assign { // assign has its own --worker: the worker who gets the item
		cmd.Flags().StringVar(&f.worker, "worker", "", "the name of the worker, for the trace")
	}
	cmd.Flags().StringVar(&f.form.Note, "note", "", "why, for the trace")
	hasLines(cmd.Flags(), "note")
	return cmd
}

func checkAttempt(cmd *cobra.Command, use attemptUse, attempt, items int) error {
	given := use != noAttempt && cmd.Flags().Changed("attempt")
	switch {
	case use == needsAttempt && !given:
		return usage("%s needs --attempt: the number that came with the lease", cmd.CommandPath())
	case given && attempt < 1:
		return usage("--attempt takes a number from 1 on")
	case given && items > 1:
		return usage("--attempt belongs to one item, and you gave %d items", items)
	}
	return nil
}

// operate runs the operation for every item, and prints the result of each.
func (c queueCommands) operate(ctx context.Context, queue string, ids []string, f *opFlags) error {
	all := struct {
		Results []wire.ResultForm `json:"results"`
	}{[]wire.ResultForm{}}
	cl := c.client()
	for batch := range slices.Chunk(ids, opsPerRequest) {
		step := wire.StepForm{Worker: f.worker, Terms: wire.Terms{Test: f.test}}
		for _, id := range batch {
			op := f.form
			op.ID = id
			step.Ops = append(step.Ops, op)
		}
		var done wire.SteppedForm
		if err := cl.do(ctx, http.MethodPost, queuePath(queue, "step"), step, &done); err != nil {
			return err
		}
		all.Results = append(all.Results, done.Results...)
	}
	err := c.print(all, func(w io.Writer) {
		for i := range all.Results {
			writeOutcome(w, &all.Results[i], &f.form)
		}
	})
	if err == nil && slices.ContainsFunc(all.Results, func(r wire.ResultForm) bool { return r.Outcome != string(item.OK) }) {
		return found()
	}
	return err
}

// refusal explains an outcome that has changed nothing.
func refusal(o item.Outcome, form *wire.OpForm) string {
	switch o {
	case item.LeaseLost:
		return fmt.Sprintf("attempt %d is over, or belongs to another subject: the lease has run out, or the item has moved on or ended", form.Attempt)
	case item.NotFound:
		return "the queue has no such item, or it has ended"
	case item.IsLeased:
		return "a worker has leased the item"
	case item.SuspendLimit:
		return "it was suspended as often as the queue allows; store or finish it"
	case item.NotDead:
		return "it is not dead"
	case item.IsDead:
		return "it is dead; requeue or remove it"
	default:
		return "nothing was changed"
	}
}

// writeOutcome writes the result of an operation.
func writeOutcome(w io.Writer, r *wire.ResultForm, form *wire.OpForm) {
	if r.Outcome != string(item.OK) {
		fmt.Fprintf(w, "%s: %s: %s\n", r.ID, r.Outcome, refusal(item.Outcome(r.Outcome), form))
		return
	}
	text := r.ID + " is " + r.State
	if r.Due != nil && r.State != string(item.Dead) {
		text += " until " + stamp(*r.Due)
	}
	if form.Worker != nil && *form.Worker != "" {
		text += ", only for " + *form.Worker
	}
	if form.Worker != nil && *form.Worker == "" {
		text += ", for anybody"
	}
	if form.Priority != 0 {
		text += ", of priority " + strconv.Itoa(form.Priority)
	}
	if form.Order != nil {
		text += ", of order " + cmp.Or(*form.Order, noOrder)
	}
	fmt.Fprintln(w, text+".")
}

func (c queueCommands) ack() *cobra.Command {
	return c.op(opCommand{
		kind: item.Ack, attempt: needsAttempt, short: "Report that the work on an item is done",
		example: "  tallyman queue ack replenishment i_7k2m --attempt 1",
	}, &opFlags{}, nil)
}

func (c queueCommands) nack() *cobra.Command {
	f := &opFlags{}
	cmd := c.op(opCommand{
		kind: item.Nack, attempt: needsAttempt, short: "Report that the work on an item has failed: the item is ready again, or dead after max_attempts failures",
		example: "  tallyman queue nack replenishment i_7k2m --attempt 1 --delay 10m --note 'bin is blocked'",
	}, f, nil)
	cmd.Flags().Var((*spanFlag)(&f.form.Delay), "delay", "how long until the item is ready again, such as 10m")
	return cmd
}

func (c queueCommands) release() *cobra.Command {
	return c.op(opCommand{
		kind: item.Release, attempt: needsAttempt, short: "Give back an item that was not begun: the item returns to its place in its priority, without a failure",
	}, &opFlags{}, nil)
}

func (c queueCommands) extend() *cobra.Command {
	f := &opFlags{}
	cmd := c.op(opCommand{kind: item.Extend, attempt: needsAttempt, short: "Extend the lease of an item"}, f, nil)
	cmd.Flags().Var((*spanFlag)(&f.form.Lease), "lease", "how long the lease lasts from now (default the queue's lease)")
	return cmd
}

func (c queueCommands) suspend() *cobra.Command {
	return c.op(opCommand{
		kind: item.Suspend, attempt: mayAttempt, short: "Suspend items for the next suspend step of the queue",
		long: `Put items off. The first suspend of an item lasts as long as the first of the queue's suspend_steps, the second suspend as long as the second step. After the last step, store or finish the item.

A worker names the attempt of its lease. Without --attempt the command puts off items that no worker has leased.`,
	}, &opFlags{}, nil)
}

func (c queueCommands) store() *cobra.Command {
	f := &opFlags{}
	cmd := c.op(opCommand{
		kind: item.Store, attempt: mayAttempt, short: "Store items for days; their suspends are counted from 0 again",
		long: `Store items for days. Their suspends then count from 0 again.

A worker names the attempt of its lease. Without --attempt the command stores items that no worker has leased.`,
		example: "  tallyman queue store replenishment i_7k2m --days 3",
	}, f, func() error {
		if (f.form.Days != 0) == (f.form.Delay != "") {
			return usage("give the time once: --days 3 or --delay 36h")
		}
		return nil
	})
	cmd.Flags().IntVar(&f.form.Days, "days", 0, "for how many days, 1 to 366")
	cmd.Flags().Var((*spanFlag)(&f.form.Delay), "delay", "for how long, instead of --days")
	return cmd
}

func (c queueCommands) finish() *cobra.Command {
	return c.op(opCommand{kind: item.Finish, short: "Finish items that no worker holds: their work is done"}, &opFlags{}, nil)
}

func (c queueCommands) assign() *cobra.Command {
	f := &opFlags{}
	var worker string
	var anybody bool
	cmd := c.op(opCommand{
		kind: item.Assign, attempt: mayAttempt, short: "Assign items to one worker, or to any worker again",
		long: `Assign items to one worker, or to any worker again. An item that is delayed, suspended or stored keeps its time.
The server refuses an item that a worker has leased, unless that worker passes the item on with --attempt.

--worker takes <subject>/<worker> for one device of a token's subject, or <subject> for all its devices. A server without tokens knows workers alone.`,
		example: `  tallyman queue assign replenishment i_7k2m --worker packer-7
  tallyman queue assign replenishment i_7k2m --worker service:wms/packer-7
  tallyman queue assign replenishment i_7k2m --worker user:ann
  tallyman queue assign replenishment i_7k2m --anybody
  tallyman queue assign replenishment i_7k2m --attempt 2 --worker packer-8`,
	}, f, func() error {
		if anybody == (worker != "") {
			return usage("give the worker once: --worker NAME or --anybody")
		}
		f.form.Worker = &worker
		return nil
	})
	cmd.Flags().StringVar(&worker, "worker", "", "the only worker that gets the items")
	cmd.Flags().BoolVar(&anybody, "anybody", false, "any worker gets the items")
	return cmd
}

func (c queueCommands) remove() *cobra.Command {
	f := &opFlags{}
	var in wire.RangeForm
	cmd := c.op(opCommand{
		kind: item.Remove, short: "Remove items: by id, or a range of a state",
		long: `Remove items: by id, or a range of a state. Without --force the server refuses an item that a worker has leased.

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
			return usage("--force and --note need the ids of items")
		}
		in.Test = f.test
		return c.removeRange(cmd.Context(), args[0], in)
	}
	cmd.Flags().BoolVar(&f.form.Force, "force", false, "also an item that a worker holds; the worker loses its lease")
	cmd.Flags().StringVar(&in.Warehouse, "warehouse", "", "of a range: only items of this warehouse, as in the list with the same flag")
	cmd.Flags().StringVar(&in.State, "state", "", "of a range: ready, assigned, delayed, suspended, stored or dead")
	cmd.Flags().Int64Var(&in.From, "from", 0, "of a range: the rank of the first item")
	cmd.Flags().Int64Var(&in.To, "to", 0, "of a range: the rank of the last item")
	return cmd
}

func (c queueCommands) removeRange(ctx context.Context, queue string, in wire.RangeForm) error {
	var done wire.RemovedForm
	if err := c.client().do(ctx, http.MethodPost, queuePath(queue, "remove"), in, &done); err != nil {
		return err
	}
	return c.print(done, func(w io.Writer) { fmt.Fprintf(w, "Removed %s.\n", count(done.Removed, "item")) })
}

func (c queueCommands) requeue() *cobra.Command {
	f := &opFlags{}
	var all bool
	cmd := c.op(opCommand{
		kind: item.Requeue, short: "Requeue dead items: by id, or all dead items that are not withheld; their failures are counted from 0 again",
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
			return usage("--note needs the ids of items")
		}
		return c.requeueAll(cmd.Context(), args[0], f.test)
	}
	cmd.Flags().BoolVar(&all, "all", false, "every dead item")
	return cmd
}

func (c queueCommands) requeueAll(ctx context.Context, queue string, test bool) error {
	var done wire.RequeuedForm
	if err := c.client().do(ctx, http.MethodPost, queuePath(queue, "requeue"), wire.RequeueForm{All: true, Test: test}, &done); err != nil {
		return err
	}
	return c.print(done, func(w io.Writer) { fmt.Fprintf(w, "Requeued %s.\n", count(done.Requeued, "item")) })
}

// instead checks the arguments, and then runs byName in place of the command's own work.
func instead(cmd *cobra.Command, args []string, byName func(*cobra.Command, []string) error) error {
	if err := takesItems(cmd, args); err != nil {
		return err
	}
	return byName(cmd, args)
}

// noOrder is the value of --order that removes the order of an item.
const noOrder = "none"

func (c queueCommands) set() *cobra.Command {
	f := &opFlags{}
	var order string
	var cmd *cobra.Command
	cmd = c.op(opCommand{
		kind: item.Set, short: "Give items another priority or order",
		long: `Give items another priority, another order inside it, or both. They move at once to their places in the order of service. What a worker has
stays as it is.

When the finding of an item is sent again, the new notice changes the priority or the order only if it has another value than the notice before.`,
		example: `  tallyman queue set replenishment i_7k2m --priority 5
  tallyman queue set replenishment i_7k2m i_9x1c --order 2026-05-01T14:00:00Z --note 'the lorry leaves at two'
  tallyman queue set replenishment i_7k2m --order none`,
	}, f, func() error {
		if !anyFlag(cmd, "priority", "order") {
			return usage("%s takes --priority, --order or both", cmd.CommandPath())
		}
		if cmd.Flags().Changed("priority") && (f.form.Priority < item.LowestPriority || f.form.Priority > item.HighestPriority) {
			return usage("--priority takes %d to %d", item.LowestPriority, item.HighestPriority)
		}
		if !cmd.Flags().Changed("order") {
			return nil
		}
		if order == noOrder {
			order = ""
		} else if _, err := item.ParseServiceOrder(cmp.Or(order, "?")); err != nil {
			return usage("--order: %w; none takes the order away", err)
		}
		f.form.Order = &order
		return nil
	})
	cmd.Flags().IntVar(&f.form.Priority, "priority", 0, "1 to 5; 5 is served first")
	cmd.Flags().StringVar(&order, "order", "", "inside a priority the lowest order is served first: a number such as 7.5, or a time; none = the time when the item became ready")
	return cmd
}
