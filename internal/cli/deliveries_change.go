package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// deliveryChange describes a command that changes deliveries.
type deliveryChange struct {
	verb, done     string // verb is part of the path; done is the word in the output
	short, example string
	states         []string // the states that --all selects if --state names none
	reason         bool     // the command has the flag --reason
}

func (c deliveryCommands) retry() *cobra.Command {
	return c.change(&deliveryChange{
		verb: "retry", done: "Tried again",
		short: "Try deliveries again at once: by number, or all that a filter chooses (failed and timed-out deliveries, if the filter has no state)",
		example: `  tallyman deliveries retry 4711 4712
  tallyman deliveries retry --all --sink gateway
  tallyman deliveries retry --all --sink sms --state canceled --warehouse 119240 --yes`,
		states: []string{"failed", "timed_out"},
	})
}

func (c deliveryCommands) cancel() *cobra.Command {
	return c.change(&deliveryChange{
		verb: "cancel", done: "Canceled",
		short: "Cancel pending deliveries: by number, or all that a filter chooses",
		example: `  tallyman deliveries cancel 4711 --reason "told by phone"
  tallyman deliveries cancel --all --sink gateway --rule negative-bin-stock`,
		states: []string{"pending"}, reason: true,
	})
}

func (c deliveryCommands) change(k *deliveryChange) *cobra.Command {
	var f deliveryFlags
	var all, yes bool
	var reason string
	cmd := c.withServer(&cobra.Command{
		Use:     k.verb + " DELIVERY… | --all FILTER",
		Short:   k.short,
		Example: k.example,
		RunE: func(cmd *cobra.Command, args []string) error {
			filtered := anyFlag(cmd, "sink", "state", "warehouse", "type", "rule", "notice", "cause")
			body := wire.CancelManyForm{CancelForm: wire.CancelForm{Reason: reason}}
			switch {
			case all && len(args) > 0:
				return usage("give the numbers of deliveries or --all, not both")
			case all && !filtered:
				return usage("--all needs at least one filter: --sink, --state, --warehouse, --type, --rule, --notice or --cause")
			case all:
				form := f.form()
				body.Filter = &form
				return c.changeAll(cmd.Context(), k, &f, body, yes)
			case len(args) == 0:
				return usage("%s takes the numbers of deliveries, or --all with a filter", cmd.CommandPath())
			case filtered || yes:
				return usage("a filter and --yes work with --all only")
			}
			ids, err := deliveryNumbers(args)
			if err != nil {
				return err
			}
			body.IDs = ids
			return c.changeNamed(cmd.Context(), k, body)
		},
	})
	f.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "every delivery that the filter chooses")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --all: do not ask for confirmation")
	if k.reason {
		cmd.Flags().StringVar(&reason, "reason", "", "why; shown as the delivery's last error")
	}
	return cmd
}

func deliveryNumbers(args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, arg := range args {
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || n < 1 {
			return nil, usage("%q is not the number of a delivery; deliveries list shows them", arg)
		}
		ids[i] = n
	}
	return ids, nil
}

func deliveryPath(id int64) string { return "/deliveries/" + strconv.FormatInt(id, 10) }

// changeNamed changes the named deliveries. For one delivery the error says why it was not changed. For several
// deliveries the error lists the unchanged ones.
func (c deliveryCommands) changeNamed(ctx context.Context, k *deliveryChange, body wire.CancelManyForm) error {
	if len(body.IDs) == 1 {
		var d wire.DeliveryForm
		path := deliveryPath(body.IDs[0]) + "/" + k.verb
		raw, err := c.client().ask(ctx, http.MethodPost, path, k.one(body), &d)
		if err != nil {
			return err
		}
		return c.print(raw, func(w io.Writer) { fmt.Fprintf(w, "%s: delivery %d to %s.\n", k.done, d.ID, d.Sink) })
	}
	changed, err := c.client().changeDeliveries(ctx, k, body)
	if err != nil {
		return err
	}
	if err := c.print(changed, func(w io.Writer) { fmt.Fprintf(w, "%s: %s.\n", k.done, count(changed.Changed, "delivery")) }); err != nil {
		return err
	}
	return unchanged(body.IDs, changed.IDs)
}

// unchanged returns an error with the deliveries that were not changed, or nil.
func unchanged(asked, changed []int64) error {
	var rest []string
	for _, id := range asked {
		if !slices.Contains(changed, id) {
			rest = append(rest, strconv.FormatInt(id, 10))
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return &exitError{ExitProblems, fmt.Errorf("no such delivery, or its state does not allow the change: %s; deliveries show NUMBER shows the state", strings.Join(rest, ", "))}
}

// one returns the request body for a single delivery. A retry has no body.
func (k *deliveryChange) one(body wire.CancelManyForm) any {
	if k.reason {
		return body.CancelForm
	}
	return nil
}

// many returns the request body for several deliveries. A retry has no reason.
func (k *deliveryChange) many(body wire.CancelManyForm) any {
	if k.reason {
		return body
	}
	return body.DeliveryChoice
}

// changeAll asks the user to confirm. Then it changes the selected deliveries in portions until none is left.
func (c deliveryCommands) changeAll(ctx context.Context, k *deliveryChange, f *deliveryFlags, body wire.CancelManyForm, yes bool) error {
	if !yes {
		if err := c.confirm(ctx, k, f); err != nil {
			return err
		}
	}
	total := wire.ChangedForm{}
	for {
		changed, err := c.client().changeDeliveries(ctx, k, body)
		if err != nil {
			if total.Changed > 0 {
				return fmt.Errorf("%w\n  %s before the error; changes so far stay", err, count(total.Changed, "delivery"))
			}
			return err
		}
		total.Changed += changed.Changed
		if changed.Cursor == "" {
			return c.print(total, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %s.", k.done, count(total.Changed, "delivery"))
				if total.Changed == 0 {
					fmt.Fprintf(w, " No delivery matches %s.", strings.Join(f.of(k).words(), ", "))
				}
				fmt.Fprintln(w)
			})
		}
		body.Filter.After = changed.Cursor
	}
}

// mostShown is the largest number of deliveries that the question counts.
const mostShown = 1000

func (c deliveryCommands) confirm(ctx context.Context, k *deliveryChange, f *deliveryFlags) error {
	chosen := f.of(k)
	list, err := c.client().listDeliveries(ctx, chosen.query(), mostShown, "")
	if err != nil {
		return err
	}
	number := count(len(list.Deliveries), "delivery")
	if list.Cursor != "" {
		number = "more than " + number
	}
	if len(list.Deliveries) == 0 {
		return nil // The caller goes on, and the server says that nothing matches.
	}
	sure, err := terminal.NewPrompt(c.In, c.Err).Yes(fmt.Sprintf("%s %s (%s)?", strings.ToUpper(k.verb[:1])+k.verb[1:], number, strings.Join(chosen.words(), ", ")), false)
	if err != nil {
		return err
	}
	if !sure {
		return &exitError{ExitProblems, errors.New("nothing was changed")}
	}
	return nil
}

// of returns the filter of a change. A filter without states gets the default states of the change. The server has the
// same defaults.
func (f *deliveryFlags) of(k *deliveryChange) *deliveryFlags {
	chosen := *f
	if len(chosen.states) == 0 {
		chosen.states = k.states
	}
	return &chosen
}

// words returns the filter as words for people.
func (f *deliveryFlags) words() []string {
	var list []string
	for _, m := range [][2]string{
		{"sink", f.sink}, {"state", strings.Join(f.states, " or ")}, {"warehouse", f.warehouse}, {"type", f.typ}, {"rule", f.rule}, {"notice", f.notice}, {"cause", f.cause},
	} {
		if m[1] != "" {
			list = append(list, m[0]+" "+m[1])
		}
	}
	return list
}

func (c *client) changeDeliveries(ctx context.Context, k *deliveryChange, body wire.CancelManyForm) (wire.ChangedForm, error) {
	var form wire.ChangedForm
	err := c.do(ctx, http.MethodPost, "/deliveries/"+k.verb, k.many(body), &form)
	return form, err
}
