package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/wire"
)

func (c *command) rulesWhy() *cobra.Command {
	var scope string
	var look bool
	cmd := c.withServer(&cobra.Command{
		Use:   "why RULE KEY",
		Short: "Show what a running server knows of one finding, and what holds it back",
		Long: `Show what a running server knows of one finding: the row that it was made of and the row as the source has it now, the condition and
what each part of it comes to, the finding's state, what holds it back, what comes next, and every notice of it with its deliveries.

KEY is the finding's key as a notice carries it, [119240,"A-01","S1"], or just its values, 119240,A-01,S1. The source is only read, within the
rule's own bounds. The exit code is 1 where nothing is known of the key.`,
		Example: `  tallyman rules why negative-bin-stock 119240,A-01,S1 --scope 119240
  tallyman rules why negative-bin-stock '[119240,"A-01","S1"]' --look=false -o json`,
		Args: takes("RULE", "KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, form, err := c.client().why(cmd.Context(), args[0], args[1], scope, look)
			if err != nil {
				return err
			}
			err = c.print(raw, func(w io.Writer) { writeWhy(w, c.width(), form) })
			if err == nil && !known(form) {
				return found()
			}
			return err
		},
	})
	cmd.Flags().StringVar(&scope, "scope", "", "the scope; needed where the rule has several")
	cmd.Flags().BoolVar(&look, "look", true, "ask the source how the row is now")
	return cmd
}

// whyTimeout leaves the source as long as a probe may take.
const whyTimeout = 5 * time.Minute

// why returns the answer as it came, and decoded.
func (c *client) why(ctx context.Context, rule, key, scope string, look bool) (json.RawMessage, *wire.WhyForm, error) {
	query := url.Values{"key": {key}}
	if scope != "" {
		query.Set("scope", scope)
	}
	if !look {
		query.Set("look", "false")
	}
	c.http.Timeout = whyTimeout
	form := &wire.WhyForm{}
	raw, err := c.ask(ctx, http.MethodGet, "/rules/"+url.PathEscape(rule)+"/why?"+query.Encode(), nil, form)
	return raw, form, err
}

// known tells whether there is anything to say of the key.
func known(f *wire.WhyForm) bool {
	return f.State != "none" || len(f.Told) > 0 || f.Look != nil && f.Look.Found
}
