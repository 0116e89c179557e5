package cli

import (
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"tallyman/internal/item"
	"tallyman/internal/wire"
)

// opCommand says how a command looks that does the same to one item or to several.
type opCommand struct {
	kind        item.OpKind
	short, long string
	example     string
	attempt     attemptUse
}

// attemptUse is what an operation does with the attempt of a lease.
type attemptUse int

const (
	noAttempt    attemptUse = iota // it is an operator's
	mayAttempt                     // an operator's, or with it that of the worker who has the lease
	needsAttempt                   // a worker's
)

// opsPerRequest is how many operations, with the longest notes, are well below what a server reads.
const opsPerRequest = 200

// opFlags are what was said on the command line.
type opFlags struct {
	form   wire.OpForm
	worker string
	test   bool
}

// op makes the command; its own flags are added by who calls. ready looks at them before anything is asked; it may be nil.
func (c *command) op(o opCommand, f *opFlags, ready func() error) *cobra.Command {
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
		cmd.Flags().IntVar(&f.form.Attempt, "attempt", 0, "of the lease that the operation belongs to")
	}
	if o.attempt != noAttempt && o.kind != item.Assign { // there it is who gets the item
		cmd.Flags().StringVar(&f.worker, "worker", "", "who does it, for the trace")
	}
	cmd.Flags().StringVar(&f.form.Note, "note", "", "why, for the trace")
	hasLines(cmd.Flags(), "note")
	return cmd
}

func checkAttempt(cmd *cobra.Command, use attemptUse, attempt, items int) error {
	given := use != noAttempt && cmd.Flags().Changed("attempt")
	switch {
	case use == needsAttempt && !given:
		return usage("%s takes --attempt: the number that came with the lease", cmd.CommandPath())
	case given && attempt < 1:
		return usage("--attempt takes a number from 1 on")
	case given && items > 1:
		return usage("--attempt is that of one item, and there are %d", items)
	}
	return nil
}

// operate does the operation to every item, and prints what became of each.
func (c *command) operate(ctx context.Context, queue string, ids []string, f *opFlags) error {
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
