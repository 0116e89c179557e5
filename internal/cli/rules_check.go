package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tallyman/internal/config"
	"tallyman/rules/problem"
)

func (c *command) rulesCheck() *cobra.Command {
	return c.withConfig(&cobra.Command{
		Use:   "check [PATH…]",
		Short: "Check rules files or folders: every problem at once; reaches for nothing",
		Long: `Check rules files, or the *.yaml files of folders: every problem at once, with its place.

With --config, or without a PATH (then the configuration's rules.paths are checked), the sources, sinks and types that rules
name must be there too. The database is not asked: columns are checked when a node meets it.`,
		RunE: func(_ *cobra.Command, paths []string) error {
			var cfg *config.Config
			if c.config != "" || len(c.set) > 0 || len(paths) == 0 {
				var err error
				if cfg, err = c.loadConfig(); err != nil {
					return err
				}
			}
			if len(paths) == 0 {
				paths = cfg.Rules.Paths
			}
			report := c.services.CheckRules(cfg, paths)
			report.Problems = append(problem.List{}, report.Problems...) // a list, not null, in JSON
			err := c.print(report, func(w io.Writer) { writeRulesReport(w, report, cfg != nil) })
			if err == nil && len(report.Problems) > 0 {
				return found()
			}
			return err
		},
	})
}

func writeRulesReport(w io.Writer, r RulesReport, withConfig bool) {
	printProblems(w, r.Problems)
	checked := fmt.Sprintf("%s, %s", count(r.Files, "file"), count(r.Rules, "sound rule"))
	switch {
	case len(r.Problems) > 0:
		fmt.Fprintf(w, "%s; %s\n", count(len(r.Problems), "problem"), checked)
	case withConfig:
		fmt.Fprintf(w, "No problems: %s\n", checked)
	default:
		fmt.Fprintf(w, "No problems: %s (names of sources, sinks and types are checked with --config)\n", checked)
	}
}
