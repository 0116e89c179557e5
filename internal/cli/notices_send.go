package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tallyman/internal/notice"
	"tallyman/internal/strictjson"
	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/strictyaml"
)

func (c noticeCommands) send() *cobra.Command {
	var f sendFlags
	var key string
	cmd := c.withServer(&cobra.Command{
		Use:   "send --type TYPE --warehouse WAREHOUSE … | FILE",
		Short: "Send one notice, or the notices of a file, as a business system does",
		Long: `Send one notice, or the notices of a JSON file; - is standard input. The file has one notice, a list of notices, or the body that the API takes:

  {"notices": [{"type": "REP_NOTICE", "warehouse": "119240", "data": {"bin": "A-01", "qty": "-3"}, "deliver": [{"sink": "inbox"}]}]}

Either all notices are sent, or none, 1,000 at most. A notice needs data, or a title, or both. Without recipients the notice goes to those who subscribe to
its type in the warehouse. Without sinks the notice goes into the inbox. With --key you can repeat a request that got no answer: nothing is sent twice.`,
		Example: `  tallyman notices send --type REP_NOTICE --warehouse 119240 --data bin=A-01 --data qty=-3 --priority 5
  tallyman notices send --type REP_NOTICE --warehouse 119240 --title "Gate 3 is closed" --recipient role:keeper
  tallyman notices send --type REP_NOTICE --warehouse 119240 --data bin=A-01 --deliver inbox --deliver sms,strategy=delayed,delay=10m,unless=read
  tallyman notices send notices.json --key order-4711`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := c.sendBody(cmd, &f, args)
			if err != nil {
				return err
			}
			var sent wire.SentForm
			raw, err := c.repeatable(key).ask(cmd.Context(), http.MethodPost, "/notices", body, &sent)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { writeSent(w, sent.Notices) })
		},
	})
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&key, "key", "", "names the request, so that a repetition sends nothing twice")
	return cmd
}

// sendBody returns the body of the request: the notice from the flags, or the notices from a file.
func (c noticeCommands) sendBody(cmd *cobra.Command, f *sendFlags, args []string) (any, error) {
	if len(args) == 0 {
		form, err := f.form(cmd, func(code string) (fieldKinds, error) { return c.client().fieldKinds(cmd.Context(), code) })
		return wire.SendForm{Notices: []wire.SendNoticeForm{form}}, err
	}
	if anyFlag(cmd, sendFlagNames...) {
		return nil, usage("%s takes a notice by flags or a file of notices, not both", cmd.CommandPath())
	}
	if err := takes("FILE")(cmd, args); err != nil {
		return nil, err
	}
	return c.readNotices(args[0])
}

// readNotices reads a file of notices and does not check them. The server checks them.
func (c noticeCommands) readNotices(name string) (any, error) {
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

// inFile adds the name of the file to an error.
func inFile(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// fieldKinds has the kind of each field of a type, keyed by name.
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

// writeSent writes the result for each notice, for people.
func writeSent(w io.Writer, notices []wire.SentNoticeForm) {
	deliveries, alone := 0, 0
	for _, n := range notices {
		deliveries += n.Deliveries
		if n.Deliveries == 0 {
			alone++
		}
		line := n.ID + "  " + count(n.Deliveries, "delivery")
		if n.Unsubscribed > 0 {
			line += "; nobody receives it at " + count(n.Unsubscribed, "sink")
		}
		fmt.Fprintln(w, line)
	}
	if len(notices) > 1 {
		fmt.Fprintf(w, "Sent %s: %s", count(len(notices), "notice"), count(deliveries, "delivery"))
		if alone > 0 {
			fmt.Fprintf(w, "; %d go to nobody", alone)
		}
		fmt.Fprintln(w, ".")
	}
}

// placeInFile returns the line and column of the first error in a JSON text.
func placeInFile(text []byte, err error) string {
	bad, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return ""
	}
	read := text[:min(int(bad.Offset), len(text))]
	line, before := bytes.Count(read, []byte("\n"))+1, bytes.LastIndexByte(read, '\n')+1
	return fmt.Sprintf("line %d, column %d", line, len(read)-before+1)
}

// sendFlags are the flags that describe a notice.
type sendFlags struct {
	notice  wire.SendNoticeForm
	data    []string
	labels  []string
	deliver []string
	popup   bool
}

// sendFlagNames lists the flags that cannot be used together with a file.
var sendFlagNames = []string{"type", "warehouse", "title", "body", "data", "priority", "popup", "label", "expires", "recipient", "deliver"}

func (f *sendFlags) add(flags *pflag.FlagSet) {
	n := &f.notice
	flags.StringVar(&n.Type, "type", "", "code of a type in the catalogue")
	flags.StringVar(&n.Warehouse, "warehouse", "", "the warehouse of the notice")
	flags.StringVar(&n.Title, "title", "", "one line (default: the name of the type)")
	flags.StringVar(&n.Body, "body", "", "the text (default: a list of the data)")
	flags.StringArrayVar(&f.data, "data", nil, "FIELD=VALUE sets a field of the type; may be repeated")
	flags.IntVar(&n.Priority, "priority", 0, "1 to 5; 5 is the highest (default 3)")
	flags.BoolVar(&f.popup, "popup", false, "the notice pops up at its readers")
	flags.StringArrayVar(&f.labels, "label", nil, "NAME=VALUE; may be repeated")
	flags.Var((*spanFlag)(&n.Expires), "expires", "how long it lives, such as 24h (default: the type's retention)")
	flags.StringArrayVar(&n.Recipients, "recipient", nil, "user:<id> or role:<id>, instead of the subscribers; may be repeated")
	flags.StringArrayVar(&f.deliver, "deliver", nil, "SINK, or SINK,strategy=…,delay=…,at=…,within=…,retry=…,unless=…; may be repeated (default: the inbox)")
	hasLines(flags, "body", "data")
}

// form returns the notice in the form of the API. kinds returns the kinds of a type's fields.
func (f *sendFlags) form(cmd *cobra.Command, kinds func(code string) (fieldKinds, error)) (wire.SendNoticeForm, error) {
	n := f.notice
	switch {
	case n.Type == "":
		return n, usage("%s takes a notice with --type, --warehouse and --data or --title, or a file of notices", cmd.CommandPath())
	case n.Warehouse == "":
		return n, usage("%s needs --warehouse", cmd.CommandPath())
	case len(f.data) == 0 && n.Title == "" && n.Body == "":
		return n, usage("the notice is empty: add --data or --title")
	}
	if f.popup {
		n.Modal = "popup"
	}
	var err error
	if n.Labels, err = namedValues("label", f.labels); err != nil {
		return n, err
	}
	for _, text := range f.deliver {
		d, err := parseDeliver(text)
		if err != nil {
			return n, err
		}
		n.Deliver = append(n.Deliver, d)
	}
	if err := withinLimits(&n); err != nil {
		return n, err
	}
	values, err := namedValues("data", f.data)
	if err != nil || len(values) == 0 {
		return n, err
	}
	of, err := kinds(n.Type)
	if err != nil {
		return n, err
	}
	n.Data = make(wire.SendData, len(values))
	for name, value := range values {
		n.Data[name] = fieldJSON(catalog.FieldKind(of[name].Type), value)
	}
	return n, nil
}

// withinLimits checks a notice against the limits before the request. The error is wrong usage, and has the first
// fault.
func withinLimits(n *wire.SendNoticeForm) error {
	life := notice.MaxLife // used in place of the type's retention, which only the server knows
	if n.Expires != "" {
		var err error
		if life, err = strictyaml.ParseDuration(n.Expires); err != nil {
			return usage("--expires: %s", err)
		}
	}
	found := notice.CheckSent(&notice.Notice{
		Title: n.Title, Body: n.Body, Labels: n.Labels, Priority: cmp.Or(n.Priority, notice.DefaultPriority), ExpiresAt: time.Time{}.Add(life),
	})
	found = append(found, notice.CheckRecipients(len(n.Recipients))...)
	if len(n.Deliver) > notice.MaxSinks {
		found = append(found, notice.Fault{At: "deliver", Message: fmt.Sprintf("it has %d sinks; at most %d are allowed", len(n.Deliver), notice.MaxSinks)})
	}
	for _, f := range found {
		return usage("%s: %s", f.At, f.Message)
	}
	return nil
}

// fieldJSON returns a value as JSON of its kind. A value that does not fit the kind becomes a text, and the server
// refuses the text.
func fieldJSON(kind catalog.FieldKind, value string) json.RawMessage {
	plain := kind == catalog.Int || kind == catalog.Bool
	if plain && json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	text, err := json.Marshal(value)
	if err != nil { // Encoding a string never fails.
		return nil
	}
	return text
}

// namedValues parses texts of the form NAME=VALUE.
func namedValues(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	out := make(map[string]string, len(list))
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usage("--%s takes NAME=VALUE, not %q", flag, text)
		}
		if _, twice := out[name]; twice {
			return nil, usage("--%s has %s twice", flag, name)
		}
		out[name] = value
	}
	return out, nil
}

// parseDeliver parses a text such as SINK,strategy=timed,within=30m.
func parseDeliver(text string) (wire.DeliverForm, error) {
	sink, rest, _ := strings.Cut(text, ",")
	d := wire.DeliverForm{Sink: sink}
	for part := range strings.SplitSeq(rest, ",") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "strategy":
			d.Strategy = value
		case "delay":
			d.Delay = value
		case "at":
			d.At = value
		case "within":
			d.Within = value
		case "unless":
			d.Unless = value
		case "until":
			d.Until = value
		case "retry":
			n, err := strconv.Atoi(value)
			if err != nil {
				return d, usage("--deliver: retry takes a number, not %q", value)
			}
			d.Retry = n
		default:
			return d, usage("--deliver takes SINK,strategy=…,delay=…,at=…,within=…,retry=…,unless=…,until=…, not %q", part)
		}
	}
	if d.Sink == "" || strings.Contains(d.Sink, "=") {
		return d, usage("--deliver begins with the name of a sink, such as inbox, not %q", text)
	}
	return d, nil
}
