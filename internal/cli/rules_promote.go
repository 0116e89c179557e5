package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// promotionForm is a rule that is live in a scope although its file has it in shadow.
type promotionForm struct {
	Rule     string    `json:"rule"`
	Scope    string    `json:"scope"`
	Promoted time.Time `json:"promoted"`
	By       string    `json:"by"`
}

func (c *command) rulesPromote() *cobra.Command {
	var scope string
	cmd := c.withServer(&cobra.Command{
		Use:   "promote RULE",
		Short: "Make a rule in shadow live on a running server, without telling again what it knows",
		Long: `Make a rule whose file says "shadow: true" live, in one scope or in all of them.

From its next run on, on every node, the rule delivers what it newly finds to the sinks of its file. What it has found already is not told
again; its resolutions go where it was told, to the shadow inbox. The promotion outlives restarts. Take "shadow" out of the
file when it suits you; the promotion is forgotten after that.`,
		Example: "  tallyman rules promote negative-bin-stock --scope 119240",
		Args:    takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := c.client().promote(cmd.Context(), args[0], scope)
			if err != nil {
				return err
			}
			return c.print(list, func(w io.Writer) {
				for _, p := range list {
					fmt.Fprintf(w, "%s%s is live since %s (%s).\n", p.Rule, within(p.Scope), p.Promoted.UTC().Format(time.RFC3339), p.By)
				}
			})
		},
	})
	cmd.Flags().StringVar(&scope, "scope", "", "one scope; without it, every scope in which the rule is in shadow")
	return cmd
}

func (c *client) promote(ctx context.Context, rule, scope string) ([]promotionForm, error) {
	var form struct {
		Promotions []promotionForm `json:"promotions"`
	}
	query := url.Values{}
	if scope != "" {
		query.Set("scope", scope)
	}
	err := c.do(ctx, http.MethodPost, "/rules/"+url.PathEscape(rule)+"/promote?"+query.Encode(), nil, &form)
	return form.Promotions, err
}
