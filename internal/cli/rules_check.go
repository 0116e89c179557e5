package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tallyman/internal/authoring"
	"tallyman/internal/config"
)

// checkForm is the answer of rules check.
type checkForm struct {
	Files     int                   `json:"files"`
	Rules     int                   `json:"rules"` // sound ones, each scope counted
	Problems  []diagnostic          `json:"problems"`
	Explained []authoring.Explained `json:"explained,omitempty"`
}

func (c *command) rulesCheck() *cobra.Command {
	var o authoring.CheckOptions
	cmd := c.withConfig(&cobra.Command{
		Use:   "check [PATH…]",
		Short: "Check rule files or folders: every problem at once",
		Long: `Check rule files, or the *.yaml files of folders: every problem at once, with its place.

With --config, or without a PATH (then the configuration's rules.paths are checked), the sources, sinks and types that rules
name must be there too; the secrets of the configuration need not be.

--source asks the databases as well: each probe is prepared on the source of its rule, not run, and the rule is compiled against
the columns that it returns. A source that is out of reach is told once; its rules are checked as without --source.

--explain asks them too, and shows what each rule comes to: the columns with their types and what reads them, the parameters, the
next due times, and everything that is in force.`,
		Example: `  tallyman rules check rules/
  tallyman rules check --source
  tallyman rules check rules/stock.yaml --explain
  tallyman rules check rules/ -o json`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			o.Paths, o.Live = paths, o.Live || o.Explain
			return c.check(cmd, o)
		},
	})
	cmd.Flags().BoolVar(&o.Live, "source", false, "prepare each probe on the source of its rule")
	cmd.Flags().BoolVar(&o.Explain, "explain", false, "show what each rule comes to; asks the sources")
	return cmd
}

func (c *command) check(cmd *cobra.Command, o authoring.CheckOptions) error {
	var cfg *config.Config
	if o.Live || c.config != "" || len(c.set) > 0 || len(o.Paths) == 0 {
		var err error
		if cfg, err = c.lazyConfig(); err != nil {
			return err
		}
	}
	report, err := c.services.CheckRules(cmd.Context(), cfg, o)
	if err != nil {
		return err
	}
	form := checkForm{report.Files, report.Rules, diagnostics(report.Problems, report.Warnings), report.Explained}
	err = c.print(form, func(w io.Writer) {
		for _, e := range report.Explained {
			writeExplained(w, e)
		}
		writeChecked(w, report, cfg != nil, o.Live)
	})
	switch {
	case err != nil:
		return err
	case len(report.Problems) > 0:
		return found()
	case len(report.Warnings) > 0:
		return unreachable(nil)
	}
	return nil
}

func writeChecked(w io.Writer, r authoring.Checked, withConfig, live bool) {
	printProblems(w, r.Problems)
	printWarnings(w, r.Warnings)
	checked := fmt.Sprintf("%s, %s", count(r.Files, "file"), count(r.Rules, "sound rule"))
	switch {
	case len(r.Problems) > 0:
		fmt.Fprintf(w, "%s; %s\n", count(len(r.Problems), "problem"), checked)
	case len(r.Warnings) > 0:
		fmt.Fprintf(w, "No problems, but not all could be checked: %s\n", checked)
	case live:
		fmt.Fprintf(w, "No problems: %s, each checked on its source\n", checked)
	case withConfig:
		fmt.Fprintf(w, "No problems: %s (the databases are asked with --source)\n", checked)
	default:
		fmt.Fprintf(w, "No problems: %s (names of sources, sinks and types are checked with --config, the databases with --source)\n", checked)
	}
}
