package cli

import (
	"io"

	"github.com/spf13/cobra"

	"tallyman/engine/trial/rulediff"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
)

// ownSource is what --source without a name stands for: each rule's own.
const ownSource = "own"

func (c *command) rulesDiff() *cobra.Command {
	var o authoring.DiffOptions
	var scope, source string
	cmd := c.withConfig(&cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two versions of rule files, and what the change would do to the findings; writes nothing",
		Long: `Compare two versions of rule files or folders, rule by rule: which come and go, and which fields differ.

With --source both versions of each rule that differs are run over one snapshot of the database and from the same state: the
one that the configured ledger has, or where none is in reach, as if the old version had told all that it finds there. Then
the findings are compared: which would newly fire, newly wait, be resolved, stay, and which would be told again.

Differences are no failure: the exit code is 0. It is 1 where a file has problems, or the new version of a rule
would not run.`,
		Example: `  tallyman rules diff rules/stock.yaml stock-new.yaml
  tallyman rules diff rules/ /tmp/rules-new/ --source --config site.yaml
  tallyman rules diff rules/ /tmp/rules-new/ --source=pilot --rule negative-bin-stock`,
		Args: diffTakes,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Old, o.New = args[:1], args[1:]
			if cmd.Flags().Changed("scope") {
				o.Scope = &scope
			}
			if o.Run = cmd.Flags().Changed("source"); source != ownSource {
				o.Source = source
			}
			return c.diff(cmd, o)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&source, "source", "", "run both versions: on each rule's own source, or with --source=NAME on that one")
	flags.Lookup("source").NoOptDefVal = ownSource
	flags.StringVar(&o.Rule, "rule", "", "only the rule with this id")
	flags.StringVar(&scope, "scope", "", "only this scope")
	flags.IntVar(&o.Limit, "rows", 5, "how many keys of each kind are shown; 0 = all")
	return cmd
}

func (c *command) diff(cmd *cobra.Command, o authoring.DiffOptions) error {
	if o.Limit < 0 {
		return usage("--rows takes 0 or more")
	}
	var cfg *config.Config
	if o.Run {
		var err error
		if cfg, err = c.lazyConfig(); err != nil {
			return err
		}
	}
	d, err := c.services.DiffRules(cmd.Context(), cfg, o)
	if err != nil {
		return err
	}
	if err := c.print(d, func(w io.Writer) { writeDiff(w, c.width(), d) }); err != nil {
		return err
	}
	return failing(d)
}

// failing ends a comparison in which the new version of a rule would not run.
func failing(d *rulediff.Diff) error {
	if d.Failing > 0 {
		return found()
	}
	return nil
}
