package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/item"
	"tallyman/internal/strictjson"
	"tallyman/internal/wire"
)

func (c *command) queuePush() *cobra.Command {
	var form wire.PushItemForm
	var payload string
	cmd := c.withTwin(&cobra.Command{
		Use:   "push QUEUE --payload JSON | QUEUE FILE",
		Short: "Push one item, or those of a file with one item a line",
		Long: `Push one item, or those of a file with one item a line; - is standard input. A line is what the API takes, only payload is needed:

  {"id": "bin-17", "priority": 5, "payload": {"bin": "A-01"}, "dedupeKey": "A-01", "delay": "10m", "warehouse": "119240"}

An item whose id the queue has or had, or whose dedupe key another item of the warehouse holds, is left out, which is no failure: so what has an id can be pushed
again without harm. The whole file is read and looked at before anything is pushed.`,
		Example: `  tallyman queue push replenishment --payload '{"bin":"A-01"}' --priority 5 --dedupe-key A-01
  tallyman queue push replenishment --payload @item.json --delay 10m
  tallyman queue push replenishment items.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			one := cmd.Flags().Changed("payload")
			switch {
			case one && len(args) == 2:
				return usage("%s takes --payload or a file, and not both", cmd.CommandPath())
			case !one && len(args) == 1:
				return usage("%s takes an item with --payload, or a file of items", cmd.CommandPath())
			case len(args) == 2 && anyFlag(cmd, "priority", "dedupe-key", "delay", "id", "warehouse"):
				return usage("the items of a file have their own id, warehouse, priority, dedupeKey and delay")
			case one:
				if err := takes("QUEUE")(cmd, args); err != nil {
					return err
				}
				return c.pushOne(cmd.Context(), args[0], payload, form)
			}
			if err := takes("QUEUE", "FILE")(cmd, args); err != nil {
				return err
			}
			return c.pushFile(cmd.Context(), args[0], args[1], form.Test)
		},
	}, &form.Test)
	flags := cmd.Flags()
	flags.StringVar(&payload, "payload", "", "any JSON value; @FILE is read from a file, - from standard input")
	hasLines(flags, "payload")
	flags.IntVar(&form.Priority, "priority", item.DefaultPriority, "1 to 5; 5 is served first")
	flags.StringVar(&form.DedupeKey, "dedupe-key", "", "leave it out while another item holds this key")
	flags.Var((*span)(&form.Delay), "delay", "before it is ready, such as 10m")
	flags.StringVar(&form.Warehouse, "warehouse", "", "that the item belongs to (default: the token's, where it has one alone; none where it has all)")
	flags.StringVar(&form.ID, "id", "", "what is pushed again under the same id is pushed once (default: the queue gives one)")
	return cmd
}

func (c *command) pushOne(ctx context.Context, queue, payload string, form wire.PushItemForm) error {
	if form.Priority < item.LowestPriority || form.Priority > item.HighestPriority {
		return usage("--priority takes %d to %d", item.LowestPriority, item.HighestPriority)
	}
	text, err := c.readPayload(payload)
	if err != nil {
		return err
	}
	if err := checkJSON[any](text); err != nil {
		return usage("--payload: %w", err)
	}
	if err := strictjson.Check(text); err != nil {
		return usage("--payload is no JSON value; a text is one in quotes: '\"A-01\"' (%s)", err)
	}
	form.Payload = text
	var done wire.PushedForm
	raw, err := c.client().ask(ctx, http.MethodPost, queuePath(queue, "items"), wire.PushForm{Items: []wire.PushItemForm{form}}, &done)
	if err != nil {
		return err
	}
	return c.print(raw, func(w io.Writer) {
		for _, i := range done.Items {
			fmt.Fprintln(w, pushed(i))
		}
	})
}

func pushed(i wire.PushedItemForm) string {
	switch item.PushOutcome(i.Outcome) {
	case item.Exists:
		return i.ID + " was there already; nothing was changed."
	case item.Duplicate:
		return "Left out: " + i.Of + " holds the dedupe key."
	case item.IDTaken:
		return "Left out: an item of another warehouse has the id " + i.ID + "; choose another."
	default:
		return "Pushed " + i.ID + "."
	}
}

// readPayload reads the payload where it is not on the command line.
func (c *command) readPayload(payload string) ([]byte, error) {
	name, isFile := strings.CutPrefix(payload, "@")
	if payload != "-" && !isFile {
		return []byte(payload), nil
	}
	if payload == "-" {
		name = payload
	}
	in, err := c.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	b, err := readAtMost(in, maxLine)
	if err != nil {
		return nil, usage("--payload %s: %w", payload, err)
	}
	return b, nil
}

// open opens a file for reading; - is standard input.
func (c *command) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.In), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	return f, nil
}

func (c *command) pushFile(ctx context.Context, queue, name string, test bool) error {
	in, err := c.open(name)
	if err != nil {
		return err
	}
	lines, err := readItems(in, name, test)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	done, err := c.client().pushLines(ctx, queue, name, lines)
	if err != nil {
		return err
	}
	return c.print(done, func(w io.Writer) { writePushed(w, done.Items) })
}

func writePushed(w io.Writer, items []wire.PushedItemForm) {
	n := map[item.PushOutcome]int{}
	for _, i := range items {
		n[item.PushOutcome(i.Outcome)]++
	}
	text := "Pushed " + count(n[item.Pushed], "item")
	if n[item.Exists] > 0 {
		text += fmt.Sprintf("; already there: %d", n[item.Exists])
	}
	if n[item.Duplicate] > 0 {
		text += fmt.Sprintf("; left out %d whose dedupe keys others hold", n[item.Duplicate])
	}
	if n[item.IDTaken] > 0 {
		text += fmt.Sprintf("; left out %d whose ids items of other warehouses have", n[item.IDTaken])
	}
	fmt.Fprintln(w, text+".")
}
