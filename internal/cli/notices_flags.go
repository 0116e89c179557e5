package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tallyman/internal/notice"
	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/strictyaml"
)

// sendFlags is a notice as flags say it.
type sendFlags struct {
	notice  wire.SendNoticeForm
	data    []string
	labels  []string
	deliver []string
	popup   bool
}

// sendFlagNames are those that a file has instead.
var sendFlagNames = []string{"type", "warehouse", "title", "body", "data", "priority", "popup", "label", "expires", "recipient", "deliver"}

func (f *sendFlags) add(flags *pflag.FlagSet) {
	n := &f.notice
	flags.StringVar(&n.Type, "type", "", "code of a type in the catalogue")
	flags.StringVar(&n.Warehouse, "warehouse", "", "whose inboxes get it")
	flags.StringVar(&n.Title, "title", "", "one line (default: the name of the type)")
	flags.StringVar(&n.Body, "body", "", "the text (default: a list of the data)")
	flags.StringArrayVar(&f.data, "data", nil, "FIELD=VALUE sets a field of the type; may be repeated")
	flags.IntVar(&n.Priority, "priority", 0, "1 to 5; 5 is the highest (default 3)")
	flags.BoolVar(&f.popup, "popup", false, "it pops up at its readers")
	flags.StringArrayVar(&f.labels, "label", nil, "NAME=VALUE; may be repeated")
	flags.Var((*span)(&n.Expires), "expires", "how long it lives, such as 24h (default: the type's retention)")
	flags.StringArrayVar(&n.Recipients, "recipient", nil, "user:<id> or role:<id>, instead of those who subscribe; may be repeated")
	flags.StringArrayVar(&f.deliver, "deliver", nil, "SINK, or SINK,strategy=…,delay=…,at=…,within=…,retry=…,unless=…; may be repeated (default: the inbox)")
	hasLines(flags, "body", "data")
}

// form is the notice as the API takes it. kinds returns the kinds of a type's fields.
func (f *sendFlags) form(cmd *cobra.Command, kinds func(code string) (fieldKinds, error)) (wire.SendNoticeForm, error) {
	n := f.notice
	switch {
	case n.Type == "":
		return n, usage("%s takes a notice with --type, --warehouse and what it says, or a file of notices", cmd.CommandPath())
	case n.Warehouse == "":
		return n, usage("%s needs --warehouse", cmd.CommandPath())
	case len(f.data) == 0 && n.Title == "" && n.Body == "":
		return n, usage("the notice says nothing: give it --data or --title")
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

// withinLimits says before the server does what is beyond the limits of a notice.
func withinLimits(n *wire.SendNoticeForm) error {
	life := notice.MaxLife // stands in for the type's, which the server knows
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
		found = append(found, notice.Fault{At: "deliver", Message: fmt.Sprintf("it has %d sinks, %d are the most", len(n.Deliver), notice.MaxSinks)})
	}
	for _, f := range found {
		return usage("%s: %s", f.At, f.Message)
	}
	return nil
}

// fieldJSON writes a value as its kind has it. What does not fit goes as a text, for the server to say so.
func fieldJSON(kind catalog.FieldKind, value string) json.RawMessage {
	plain := kind == catalog.Int || kind == catalog.Bool
	if plain && json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	text, err := json.Marshal(value)
	if err != nil { // a string always encodes
		return nil
	}
	return text
}

// namedValues reads NAME=VALUE texts.
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

// parseDeliver reads SINK,strategy=timed,within=30m.
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
		case "retry":
			n, err := strconv.Atoi(value)
			if err != nil {
				return d, usage("--deliver: retry takes a number, not %q", value)
			}
			d.Retry = n
		default:
			return d, usage("--deliver takes SINK,strategy=…,delay=…,at=…,within=…,retry=…,unless=…, not %q", part)
		}
	}
	if d.Sink == "" || strings.Contains(d.Sink, "=") {
		return d, usage("--deliver begins with the name of a sink, such as inbox, not %q", text)
	}
	return d, nil
}
