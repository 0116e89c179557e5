package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/item"
	"tallyman/internal/strictjson"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

func (c queueCommands) push() *cobra.Command {
	var form wire.PushItemForm
	var payload, key string
	cmd := c.withTwin(&cobra.Command{
		Use:   "push QUEUE --payload JSON | QUEUE FILE",
		Short: "Push one item, or the items of a file with one item a line",
		Long: `Push one item, or the items of a file with one item a line; - is standard input. A line has the fields of the API; only payload is required:

  {"id": "bin-17", "priority": 5, "order": "7.5", "payload": {"bin": "A-01"}, "dedupeKey": "A-01", "delay": "10m", "warehouse": "119240"}

With --again, or "again": true in a line, an ended item with the same id begins a new life. With --key you can repeat a push that got no answer: the item
begins one new life only.

An item is left out if the queue has or had its id, or if another item of the warehouse holds its dedupe key. That is no failure, so you can push items with ids
again without harm. The command reads and checks the whole file before it pushes an item.`,
		Example: `  tallyman queue push replenishment --payload '{"bin":"A-01"}' --priority 5 --dedupe-key A-01
  tallyman queue push replenishment --payload @item.json --delay 10m
  tallyman queue push replenishment --id WO-4711 --payload '{"bin":"A-01"}' --again --key order-4711-2
  tallyman queue push replenishment items.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			one := cmd.Flags().Changed("payload")
			switch {
			case one && len(args) == 2:
				return usage("%s takes --payload or a file, not both", cmd.CommandPath())
			case !one && len(args) == 1:
				return usage("%s takes an item with --payload, or a file of items", cmd.CommandPath())
			case len(args) == 2 && anyFlag(cmd, "priority", "order", "dedupe-key", "delay", "id", "warehouse", "again"):
				return usage("the items of a file have their own id, warehouse, priority, order, dedupeKey, delay and again")
			case one:
				if err := takes("QUEUE")(cmd, args); err != nil {
					return err
				}
				return c.pushOne(cmd.Context(), args[0], payload, key, form)
			}
			if err := takes("QUEUE", "FILE")(cmd, args); err != nil {
				return err
			}
			return c.pushFile(cmd.Context(), args[0], args[1], key, form.Test)
		},
	}, &form.Test)
	flags := cmd.Flags()
	flags.StringVar(&payload, "payload", "", "any JSON value; @FILE is read from a file, - from standard input")
	hasLines(flags, "payload")
	flags.IntVar(&form.Priority, "priority", item.DefaultPriority, "1 to 5; 5 is served first")
	flags.StringVar(&form.Order, "order", "", "inside a priority the lowest order is served first: a number such as 7.5, or a time such as 2026-05-01T14:00:00Z (default: the time when the item becomes ready)")
	flags.StringVar(&form.DedupeKey, "dedupe-key", "", "leave the item out while another item holds this key")
	flags.Var((*spanFlag)(&form.Delay), "delay", "how long until the item is ready, such as 10m")
	flags.StringVar(&form.Warehouse, "warehouse", "", "the warehouse of the item (default: the warehouse of the token if it has only one, else none)")
	flags.StringVar(&form.ID, "id", "", "an item that is pushed again under the same id is pushed once (default: the queue gives an id)")
	flags.BoolVar(&form.Again, "again", false, "an ended item with this id begins a new life")
	flags.StringVar(&key, "key", "", "names the request, so that a repetition begins no second life with --again")
	return cmd
}

func (c queueCommands) pushOne(ctx context.Context, queue, payload, key string, form wire.PushItemForm) error {
	if form.Priority < item.LowestPriority || form.Priority > item.HighestPriority {
		return usage("--priority takes %d to %d", item.LowestPriority, item.HighestPriority)
	}
	if _, err := item.ParseServiceOrder(form.Order); err != nil {
		return usage("--order: %w", err)
	}
	if form.Again && form.ID == "" {
		return usage("--again takes the --id of the item")
	}
	text, err := c.readPayload(payload)
	if err != nil {
		return err
	}
	if err := checkJSON[any](text); err != nil {
		return usage("--payload: %w", err)
	}
	if err := strictjson.Check(text); err != nil {
		return usage("--payload is not a JSON value; put a text in quotes: '\"A-01\"' (%s)", err)
	}
	form.Payload = text
	done, err := c.repeatable(key).pushed(ctx, queue, wire.PushForm{Items: []wire.PushItemForm{form}})
	if err != nil {
		return err
	}
	return c.print(done, func(w io.Writer) {
		for _, i := range done.Items {
			fmt.Fprintln(w, pushed(i))
		}
	})
}

func (c *client) pushed(ctx context.Context, queue string, push wire.PushForm) (*wire.PushedForm, error) {
	var done wire.PushedForm
	err := c.do(ctx, http.MethodPost, queuePath(queue, "items"), push, &done)
	return &done, err
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

// readPayload returns the payload from the command line, or reads it from a file or standard input.
func (c queueCommands) readPayload(payload string) ([]byte, error) {
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

func (c queueCommands) pushFile(ctx context.Context, queue, name, key string, test bool) error {
	in, err := c.open(name)
	if err != nil {
		return err
	}
	lines, err := readItems(in, name, test)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	done, err := c.repeatable(key).pushLines(ctx, queue, name, lines)
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
		text += fmt.Sprintf("; left out %d, because other items hold their dedupe keys", n[item.Duplicate])
	}
	if n[item.IDTaken] > 0 {
		text += fmt.Sprintf("; left out %d whose ids items of other warehouses have", n[item.IDTaken])
	}
	fmt.Fprintln(w, text+".")
}

const (
	maxLine      = 1 << 20 // bytes of a line, or of a payload with its spaces; the server checks the limit of an item
	maxPushBytes = 4 << 20 // bytes of all items in one request
	mostProblems = 20      // the largest number of problems that an error lists
)

// itemLine is an item with the number of its line.
type itemLine struct {
	line int
	form wire.PushItemForm
	size int // of the line, in bytes
}

// readItems reads a file with one item in each line, and skips empty lines. The error lists the problems by line.
func readItems(in io.Reader, name string, test bool) ([]itemLine, error) {
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, 64<<10), maxLine)
	var lines []itemLine
	var wrong []error
	n := 0
	for scan.Scan() {
		n++
		text := bytes.TrimSpace(scan.Bytes())
		if len(text) == 0 {
			continue
		}
		form, err := readItem(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, n, err))
			continue
		}
		form.Test = test
		lines = append(lines, itemLine{n, form, len(text)})
	}
	switch err := scan.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		wrong = append(wrong, fmt.Errorf("%s:%d: the line has more than %d bytes", name, n+1, maxLine))
	case err != nil:
		return nil, &exitError{ExitUsage, err}
	case len(lines)+len(wrong) == 0:
		wrong = append(wrong, fmt.Errorf("%s: the file has no items", name))
	}
	if n := len(wrong); n > mostProblems {
		wrong = append(wrong[:mostProblems], fmt.Errorf("and %d lines more", n-mostProblems))
	}
	return lines, errors.Join(wrong...)
}

// readItem parses a line.
func readItem(text []byte) (wire.PushItemForm, error) {
	var form wire.PushItemForm
	if text[0] != '{' {
		return form, errors.New(`a line is an item, such as {"payload": {"bin": "A-01"}}`)
	}
	if err := strictjson.Unmarshal(text, &form); err != nil {
		return form, err
	}
	if err := checkJSON[wire.PushItemForm](text); err != nil {
		return form, err
	}
	switch {
	case form.Payload == nil:
		return form, errors.New("the item has no payload")
	case form.Priority != 0 && (form.Priority < item.LowestPriority || form.Priority > item.HighestPriority):
		return form, fmt.Errorf("priority is %d to %d", item.LowestPriority, item.HighestPriority)
	case form.Test:
		return form, errors.New("test is for the whole file: use the flag --test")
	}
	if form.Delay != "" {
		if _, err := strictyaml.ParseDuration(form.Delay); err != nil {
			return form, fmt.Errorf("delay: %w", err)
		}
	}
	return form, nil
}

// pushLines pushes the items, with as many items in each request as its limits allow.
func (c *client) pushLines(ctx context.Context, queue, name string, lines []itemLine) (*wire.PushedForm, error) {
	all := &wire.PushedForm{Items: make([]wire.PushedItemForm, 0, len(lines))}
	for len(lines) > 0 {
		n := requestOf(lines)
		var push wire.PushForm
		for _, l := range lines[:n] {
			push.Items = append(push.Items, l.form)
		}
		done, err := c.pushed(ctx, queue, push)
		if err != nil {
			return nil, cutShort(err, name, lines[:n], len(all.Items))
		}
		all.Items, lines = append(all.Items, done.Items...), lines[n:]
	}
	return all, nil
}

// requestOf returns how many of the items go into the next request.
func requestOf(lines []itemLine) int {
	n, size := 0, 0
	for n < len(lines) && n < item.MaxBatch && (n == 0 || size+lines[n].size <= maxPushBytes) {
		size += lines[n].size
		n++
	}
	return n
}

var itemOfRequest = regexp.MustCompile(`body\.items\[(\d+)\]\.?`)

// cutShort adds to an error the lines of the failed request, and the number of items that were pushed before.
func cutShort(err error, name string, lines []itemLine, done int) error {
	text := itemOfRequest.ReplaceAllStringFunc(err.Error(), func(at string) string {
		i, convErr := strconv.Atoi(itemOfRequest.FindStringSubmatch(at)[1])
		if convErr != nil || i >= len(lines) {
			return at
		}
		return fmt.Sprintf("%s:%d: ", name, lines[i].line)
	})
	if exit, ok := errors.AsType[*exitError](err); ok && exit.code == ExitUnreachable {
		text += fmt.Sprintf("\nPushed %s; it is not known whether lines %d to %d were pushed. You can push items with ids again without harm.",
			count(done, "item"), lines[0].line, lines[len(lines)-1].line)
		return unreachable(errors.New(text))
	}
	return fmt.Errorf("%s\nPushed %s, and none from line %d on", text, count(done, "item"), lines[0].line)
}
