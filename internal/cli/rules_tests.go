package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/engine/trial/ruletest"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
)

func (c *command) rulesTest() *cobra.Command {
	var run, source string
	var cover bool
	cmd := c.withConfig(&cobra.Command{
		Use:   "test PATH…",
		Short: "Run rule tests: rules walk through time on rows or tables that the tests give; needs no server",
		Long: `Run the rule tests of files, or of the *_test.yaml files and others with tests in folders. A test walks a rule through time: each step gives
the rows that the probe returns, or the tables that it reads, and says what must come of it. docs/rule-reference.md describes the format.

Tables lie in a SQLite database in memory, which the probe's own SQL runs on. With --source they are staged in that source
for a moment, before the real ones, and rolled back.`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if len(paths) == 0 {
				return usage("%s needs a file or folder with rule tests", cmd.CommandPath())
			}
			o := authoring.TestOptions{Paths: paths, Cover: cover, Source: source}
			if run != "" {
				var err error
				if o.Run, err = regexp.Compile(run); err != nil {
					return usage("--run: %w", err)
				}
			}
			var cfg *config.Config
			if c.config != "" || len(c.set) > 0 || source != "" {
				var err error
				if cfg, err = c.lazyConfig(); err != nil {
					return err
				}
			}
			report, err := c.services.TestRules(cmd.Context(), cfg, o)
			if err != nil {
				return err
			}
			if err := c.print(report, func(w io.Writer) { writeTests(w, report, run) }); err != nil {
				return err
			}
			if !report.Passed() {
				return found()
			}
			return nil
		},
	})
	cmd.Flags().StringVar(&run, "run", "", "only the tests whose name or rule this regular expression matches")
	cmd.Flags().BoolVar(&cover, "cover", false, "also say which rules, branches of conditions and deliveries no test reaches")
	cmd.Flags().StringVar(&source, "source", "", "run the probes on this source of the configuration instead of SQLite in memory")
	return cmd
}

// writeTests shows what failed, then the sum.
func writeTests(w io.Writer, r *ruletest.Report, chosen string) {
	printProblems(w, r.Problems)
	for i := range r.Results {
		writeResult(w, &r.Results[i])
	}
	if r.Cover != nil {
		writeCover(w, r.Cover)
	}
	if r.Tests == 0 && len(r.Problems) == 0 {
		none := "No rule tests were run: the files have none."
		if chosen != "" {
			none = fmt.Sprintf("No rule tests were run: no file has any, or --run %s matches none.", chosen)
		}
		fmt.Fprintln(w, none)
		return
	}
	sum := fmt.Sprintf("%s, %s, %s", count(r.Files, "file"), count(r.Tests, "test"), count(r.Steps, "step"))
	switch {
	case r.Failed > 0 && len(r.Problems) > 0:
		fmt.Fprintf(w, "FAIL: %d of %s failed; %s\n", r.Failed, count(r.Tests, "test"), count(len(r.Problems), "problem"))
	case r.Failed > 0:
		fmt.Fprintf(w, "FAIL: %d of %s failed\n", r.Failed, count(r.Tests, "test"))
	case len(r.Problems) > 0 && r.Tests == 0:
		fmt.Fprintf(w, "FAIL: %s\n", count(len(r.Problems), "problem"))
	case len(r.Problems) > 0:
		fmt.Fprintf(w, "FAIL: %s; the tests that could be run passed: %s\n", count(len(r.Problems), "problem"), sum)
	default:
		fmt.Fprintf(w, "Passed: %s\n", sum)
	}
	if len(r.Unchecked) > 0 {
		fmt.Fprintf(w, "The types of notices were not checked in %s: name the catalogue with types: in the file, or a configuration with --config.\n", some(r.Unchecked))
	}
}

func writeResult(w io.Writer, r *ruletest.Result) {
	if len(r.Failures) == 0 {
		return
	}
	of := r.Rule
	if r.Scope != "" {
		of += ", scope " + r.Scope
	}
	fmt.Fprintf(w, "FAIL  %s (%s)\n", r.Name, of)
	for _, f := range r.Failures {
		at := fmt.Sprintf("%s:%d:%d:", f.File, f.Line, f.Col)
		if f.Step != "" {
			at += " at " + f.Step + ":"
		}
		fmt.Fprintf(w, "  %s %s\n", at, f.Message)
		for _, line := range f.Diff {
			fmt.Fprintf(w, "    %s\n", line)
		}
		for _, p := range f.Problems {
			fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(p.String(), "\n", "\n    "))
		}
	}
	fmt.Fprintln(w)
}

func writeCover(w io.Writer, c *ruletest.Cover) {
	for _, g := range c.Missing {
		what := g.Miss
		switch g.What {
		case "branch":
			what += ": " + strings.Join(strings.Fields(g.Text), " ")
		case "delivery":
			what = "deliver to " + g.Text + ": " + what
		}
		fmt.Fprintf(w, "%s:%d:%d: %s: %s\n", g.File, g.Line, g.Col, g.Rule, what)
	}
	fmt.Fprintf(w, "Covered: %g%% (rules %d of %d, outcomes of conditions %d of %d, deliveries %d of %d)\n", c.Percent,
		c.Rules.Reached, c.Rules.All, c.Branches.Reached, c.Branches.All, c.Deliveries.Reached, c.Deliveries.All)
}

// some names the first few.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
