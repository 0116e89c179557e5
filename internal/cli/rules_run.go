package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

func (c *command) rulesRun() *cobra.Command {
	var scope string
	cmd := c.withServer(&cobra.Command{
		Use:   "run RULE",
		Short: "Run a rule of a running server now, with all that follows from it",
		Long: `Run a firing of a rule now, once in the cluster: its notices are delivered as those of any other. A rule that is disabled runs, too, since you ask for it.
To see what a rule would do without telling anybody, use "rules preview".`,
		Example: "  tallyman rules run negative-bin-stock --scope 119240",
		Args:    takes("RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{}
			if scope != "" {
				query.Set("scope", scope)
			}
			var form wire.OrderedForm
			raw, err := c.client().ask(cmd.Context(), http.MethodPost, withQuery(rulePath(args[0], "/run"), query), nil, &form)
			if err != nil {
				return err
			}
			if err := c.print(raw, func(w io.Writer) { writeOrdered(w, &form) }); err != nil {
				return err
			}
			if form.Run != nil && form.Run.Outcome == string(ledger.OutcomeFailed) {
				return found()
			}
			return nil
		},
	})
	cmd.Flags().StringVar(&scope, "scope", "", "needed where the rule has several")
	return cmd
}

func (c *command) rulesReload() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "reload",
		Short: "Have a running server read its rule files again",
		Long: `Have the server that is asked read its rule files again, as it does by itself within two seconds of a change, and on SIGHUP. A file with a problem is not
taken in: the last good version of its rules stays in force. Sources, sinks and other configuration are read at the start alone.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var form wire.Reloaded
			raw, err := c.client().ask(cmd.Context(), http.MethodPost, "/rules/reload", nil, &form)
			if err != nil {
				return err
			}
			if err := c.print(raw, func(w io.Writer) { writeReloaded(w, &form) }); err != nil {
				return err
			}
			if len(form.Problems) > 0 {
				return found()
			}
			return nil
		},
	})
}

func writeReloaded(w io.Writer, r *wire.Reloaded) {
	fmt.Fprintf(w, "%s of %s: %d added, %d changed, %d removed", count(r.Rules, "rule"), count(r.Files, "file"), r.Added, r.Changed, r.Removed)
	if r.Kept > 0 {
		fmt.Fprintf(w, ", %d as before", r.Kept)
	}
	fmt.Fprintf(w, " (version %s)\n", r.Version)
	writeFileProblems(w, r.Problems)
}
