package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/engine/trial/ruletest"
	"tallyman/internal/authoring"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/config"
	"tallyman/rules"
)

// checkForm is the answer of rules check.
type checkForm struct {
	Files     int                   `json:"files"`
	Rules     int                   `json:"rules"` // number of rules without a problem; each scope counts
	Problems  []diagnostic          `json:"problems"`
	Explained []authoring.Explained `json:"explained,omitempty"`
}

func (c ruleCommands) check() *cobra.Command {
	var o authoring.CheckOptions
	cmd := c.withConfig(&cobra.Command{
		Use:   "check [PATH…]",
		Short: "Check rule files or folders: every problem at once",
		Long: `Check rule files, or the *.yaml files of folders: every problem at once, with its place.

With --config, or without a PATH, the sources, sinks and types that rules name must exist, too; the secrets of the configuration need not be
set. Without a PATH the command checks rules.paths of the configuration.

--source asks the databases, too. Each probe is prepared on the source of its rule, but does not run, and the rule is compiled against
the columns of the probe. The command reports an unreachable source once, and checks its rules as without --source.

A warning is about a rule that runs, but probably not as you meant. The exit code stays 0; with --strict a warning counts as a problem.

--explain asks the databases, too, and shows each rule in full: the columns with their types and what reads them, the parameters, the
next due times, and all fields in force.`,
		Example: `  tallyman rules check rules/
  tallyman rules check --source
  tallyman rules check rules/stock.yaml --explain
  tallyman rules check rules/ -o json`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			o.Paths, o.Live = paths, o.Live || o.Explain
			return c.checkFiles(cmd, o)
		},
	})
	cmd.Flags().BoolVar(&o.Live, "source", false, "prepare each probe on the source of its rule")
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "count warnings about rules as problems")
	cmd.Flags().BoolVar(&o.Explain, "explain", false, "show each rule in full, with its columns; asks the sources")
	return cmd
}

func (c ruleCommands) checkFiles(cmd *cobra.Command, o authoring.CheckOptions) error {
	var cfg *config.Config
	if o.Live || c.namedConfig() != "" || len(c.set) > 0 || len(o.Paths) == 0 {
		var err error
		if cfg, err = c.lazyConfig(); err != nil {
			return err
		}
	}
	report, err := c.services.CheckRules(cmd.Context(), cfg, o)
	if err != nil {
		return err
	}
	form := checkForm{report.Files, report.Rules, diagnostics(report.Problems, slices.Concat(report.Warnings, report.Lints), report.Notes), report.Explained}
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
	printWarnings(w, r.Lints)
	printNotes(w, r.Notes)
	checked := fmt.Sprintf("%s, %s", count(r.Files, "file"), count(r.Rules, "sound rule"))
	if warnings := len(r.Warnings) + len(r.Lints); warnings > 0 {
		checked += ", " + count(warnings, "warning")
	}
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

// writeExplained writes the compiled form of a rule, for people.
func writeExplained(w io.Writer, e authoring.Explained) {
	fmt.Fprintf(w, "%s%s (%s, source %s)\n", e.Rule, within(e.Scope), shortPath(e.File), e.Source)
	writeColumns(w, e)
	if len(e.Params) > 0 {
		fmt.Fprintln(w, "  parameters")
		rows := make([][]string, len(e.Params))
		for i, p := range e.Params {
			rows[i] = []string{"    :" + p.Name, paramText(p)}
		}
		terminal.Columns(w, rows)
	}
	fmt.Fprintln(w, "  next due")
	for _, at := range e.Next {
		fmt.Fprintf(w, "    %s\n", at.Format("Mon 2006-01-02 15:04:05 -07:00"))
	}
	fmt.Fprintln(w, "  in force")
	rows := make([][]string, len(e.Fields))
	for i, f := range e.Fields {
		rows[i] = []string{"    " + f.Name, strings.ReplaceAll(f.Value, "\n", " ")}
	}
	terminal.Columns(w, rows)
	fmt.Fprintln(w)
}

func writeColumns(w io.Writer, e authoring.Explained) {
	if e.Unverified != "" {
		fmt.Fprintf(w, "  unverified: %s\n", e.Unverified)
	}
	if len(e.Columns) == 0 {
		return
	}
	fmt.Fprintln(w, "  columns")
	rows := [][]string{{"    NAME", "KIND", "DATABASE TYPE", "NULL", "READ BY"}}
	for _, c := range e.Columns {
		null, uses := "no", strings.Join(c.Uses, ", ")
		if c.Nullable {
			null = "yes"
		}
		if uses == "" && e.Unverified == "" {
			uses = "nothing"
		}
		rows = append(rows, []string{"    " + c.Name, c.Kind, c.DatabaseType, null, uses})
	}
	terminal.Columns(w, rows)
	if e.Cost != nil {
		fmt.Fprintf(w, "  cost by the database's plan: %.6g\n", *e.Cost)
		for step := range strings.Lines(e.Plan) {
			fmt.Fprintf(w, "    %s\n", strings.TrimRight(step, "\n"))
		}
	}
}

func paramText(p authoring.ExplainedParam) string {
	switch {
	case p.Value == nil && p.From != "":
		return p.From
	case p.Value == nil:
		return "null"
	}
	value := fmt.Sprint(p.Value)
	if s, ok := p.Value.(string); ok {
		value = fmt.Sprintf("%q", s)
	}
	if p.From != "" {
		value += ", " + p.From
	}
	return value
}

func (c ruleCommands) schema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of rule files, for editors",
		Long: `Print the JSON Schema of rule files (draft-07), for editors that complete and check YAML. A rule file names it in its first line:

  # yaml-language-server: $schema=../rule.schema.json

The schema knows fields, kinds and spellings; "tallyman rules check" knows the rest.`,
		Example: `  tallyman rules schema > rule.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := rules.Schema()
			if err != nil {
				return err
			}
			_, err = c.Out.Write(text)
			return err
		},
	}
}

func (c ruleCommands) test() *cobra.Command {
	var run, source string
	var cover bool
	cmd := c.withConfig(&cobra.Command{
		Use:   "test PATH…",
		Short: "Run rule tests: a test takes a rule through time on its own rows or tables; needs no server",
		Long: `Run the rule tests of files, or of all files with tests in folders, such as *_test.yaml. A test takes a rule through time. Each step gives
the rows that the probe returns, or the tables that the probe reads, and the expected result. docs/reference/rule-file.md describes the format.

The tables are in a SQLite database in memory, and the probe's own SQL runs on them. With --source the tables are temporary tables of that source:
they hide the real tables of the same name for this session only, and are rolled back.`,
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
			if c.namedConfig() != "" || len(c.set) > 0 || source != "" {
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
	cmd.Flags().BoolVar(&cover, "cover", false, "also list the rules, branches of conditions and deliveries that no test reaches")
	cmd.Flags().StringVar(&source, "source", "", "run the probes on this source of the configuration instead of SQLite in memory")
	return cmd
}

// writeTests writes the failures, and then the totals.
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

// some returns the first few names, and the number of the other names.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
