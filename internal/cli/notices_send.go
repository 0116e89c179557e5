package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"tallyman/internal/notice"
	"tallyman/internal/strictjson"
	"tallyman/internal/wire"
)

func (c *command) noticesSend() *cobra.Command {
	var f sendFlags
	var key string
	cmd := c.withServer(&cobra.Command{
		Use:   "send --type TYPE --warehouse WAREHOUSE … | FILE",
		Short: "Send one notice, or those of a file, as a business system does",
		Long: `Send one notice, or those of a JSON file; - is standard input. The file has one notice, a list of them, or what the API takes:

  {"notices": [{"type": "REP_NOTICE", "warehouse": "119240", "data": {"bin": "A-01", "qty": "-3"}, "deliver": [{"sink": "inbox"}]}]}

All of them are sent, or none, 1,000 at most. A notice says something: data, or a title, or both. It goes to those who subscribe to its type in the
warehouse, unless it names recipients, and into the inbox, unless it names sinks. With --key a request that got no answer can be repeated: nothing is sent twice.`,
		Example: `  tallyman notices send --type REP_NOTICE --warehouse 119240 --data bin=A-01 --data qty=-3 --priority 5
  tallyman notices send --type REP_NOTICE --warehouse 119240 --title "Gate 3 is closed" --recipient role:keeper
  tallyman notices send --type REP_NOTICE --warehouse 119240 --data bin=A-01 --deliver inbox --deliver sms,strategy=delayed,delay=10m,unless=read
  tallyman notices send notices.json --key order-4711`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := c.sendBody(cmd, &f, args)
			if err != nil {
				return err
			}
			client := c.client()
			if key != "" {
				client.header = http.Header{"Idempotency-Key": {key}}
			}
			var sent wire.SentForm
			raw, err := client.ask(cmd.Context(), http.MethodPost, "/notices", body, &sent)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { writeSent(w, sent.Notices) })
		},
	})
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&key, "key", "", "names the request, so that whoever repeats it sends nothing twice")
	return cmd
}

// sendBody is what the request says: the notice of the flags, or the notices of a file.
func (c *command) sendBody(cmd *cobra.Command, f *sendFlags, args []string) (any, error) {
	if len(args) == 0 {
		form, err := f.form(cmd, func(code string) (fieldKinds, error) { return c.client().fieldKinds(cmd.Context(), code) })
		return wire.SendForm{Notices: []wire.SendNoticeForm{form}}, err
	}
	if anyFlag(cmd, sendFlagNames...) {
		return nil, usage("%s takes the notice of flags, or a file of notices, and not both", cmd.CommandPath())
	}
	if err := takes("FILE")(cmd, args); err != nil {
		return nil, err
	}
	return c.readNotices(args[0])
}

// readNotices reads a file of notices and leaves them as they are: what is wrong with them the server says.
func (c *command) readNotices(name string) (any, error) {
	in, err := c.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(io.LimitReader(in, notice.MaxRequestBytes+1))
	if err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	text = bytes.TrimSpace(text)
	switch err := strictjson.Check(text); {
	case len(text) > notice.MaxRequestBytes:
		return nil, fmt.Errorf("%s has more than %d MB: send it in parts", name, notice.MaxRequestBytes>>20)
	case len(text) == 0:
		return nil, fmt.Errorf("%s is empty", name)
	case err != nil:
		return nil, fmt.Errorf("%s: %s: %w", name, placeInFile(text, err), err)
	case text[0] == '[':
		var list []json.RawMessage
		if err := strictjson.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, f := range notice.CheckRequest(len(list), 0) {
			return nil, fmt.Errorf("%s: %s: send it in parts", name, f.Message)
		}
		return map[string]json.RawMessage{"notices": text}, inFile(name, checkJSON[[]wire.SendNoticeForm](text))
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("%s is neither a notice nor a list of notices", name)
	}
	if _, ok := whole["notices"]; ok {
		return json.RawMessage(text), inFile(name, checkJSON[wire.SendForm](text))
	}
	return map[string][]json.RawMessage{"notices": {text}}, inFile(name, checkJSON[wire.SendNoticeForm](text))
}

// inFile names the file that an error is about.
func inFile(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// fieldKinds are the kinds of a type's fields by name.
type fieldKinds map[string]struct {
	Type string `json:"type"`
}

func (c *client) fieldKinds(ctx context.Context, code string) (fieldKinds, error) {
	var typ struct {
		Fields fieldKinds `json:"fields"`
	}
	err := c.do(ctx, http.MethodGet, "/types/"+url.PathEscape(code), nil, &typ)
	return typ.Fields, err
}

// writeSent says what became of the notices, for people.
func writeSent(w io.Writer, notices []wire.SentNoticeForm) {
	deliveries, alone := 0, 0
	for _, n := range notices {
		deliveries += n.Deliveries
		if n.Deliveries == 0 {
			alone++
		}
		line := n.ID + "  " + deliveriesOf(n.Deliveries)
		if n.Unsubscribed > 0 {
			line += "; for " + count(n.Unsubscribed, "sink") + " there is nobody to have it"
		}
		fmt.Fprintln(w, line)
	}
	if len(notices) > 1 {
		fmt.Fprintf(w, "Sent %s: %s", count(len(notices), "notice"), deliveriesOf(deliveries))
		if alone > 0 {
			fmt.Fprintf(w, "; %d go to nobody", alone)
		}
		fmt.Fprintln(w, ".")
	}
}

func deliveriesOf(n int) string {
	if n == 1 {
		return "1 delivery"
	}
	return fmt.Sprintf("%d deliveries", n)
}

// placeInFile is the line and column at which a text stops being JSON that everybody reads in the same way.
func placeInFile(text []byte, err error) string {
	bad, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return ""
	}
	read := text[:min(int(bad.Offset), len(text))]
	line, before := bytes.Count(read, []byte("\n"))+1, bytes.LastIndexByte(read, '\n')+1
	return fmt.Sprintf("line %d, column %d", line, len(read)-before+1)
}
