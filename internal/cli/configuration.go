package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/rules/problem"
)

// configForm is the answer of config check.
type configForm struct {
	File     string            `json:"file"`
	Problems []diagnostic      `json:"problems"`
	Sources  []app.SourceCheck `json:"sources,omitempty"` // with --source
}

func (c nodeCommands) configuration() *cobra.Command {
	var sources bool
	check := c.withConfig(&cobra.Command{
		Use:   "check",
		Short: "Check the configuration with the environment and --set; connects to nothing without --source",
		Long: `Check the configuration, after the environment and --set have changed it, and what the configuration names: the type catalogue, the types of
subscriptions, the addresses of sources and channels, templates, certificates and keys. "tallyman serve" does not stop at a configuration that this command
accepts. The command connects to nothing. A subscription that no rule of the rule files serves is a warning, and the exit code stays 0.

--source connects to every source and asks its database what the source's user may do beside reading: functions that end sessions, read
files, write past a rollback, or run any SQL, and rights over the server and to change tables. Tallyman refuses probes that call such a
function in any case, and runs each probe in a read-only transaction. With the printed REVOKE the database refuses the function, too.`,
		Example: `  tallyman config check --config site.yaml
  tallyman config check --config site.yaml --source`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.loadConfig()
			form := configForm{File: cmp.Or(c.namedConfig(), config.DefaultFile)}
			list, ok := asProblems(err)
			if err != nil && !ok {
				return err
			}
			var warnings problem.List
			if err == nil {
				list, warnings = app.CheckConfig(cmd.Context(), cfg), app.ConfigWarnings(cfg)
			}
			form.Problems = diagnostics(list, warnings, nil)
			if sources && len(list) == 0 {
				form.Sources = c.services.CheckSources(cmd.Context(), cfg)
			}
			err = c.print(form, func(w io.Writer) {
				printWarnings(w, warnings)
				writeConfigCheck(w, form.File, list, cfg)
				writeSourceChecks(w, form.Sources)
			})
			switch {
			case err != nil:
				return err
			case len(list) > 0:
				return found()
			case slices.ContainsFunc(form.Sources, func(s app.SourceCheck) bool { return s.Error != "" }):
				return unreachable(nil)
			}
			return nil
		},
	})
	check.Flags().BoolVar(&sources, "source", false, "ask each source what its user may do beside reading")
	return group("config", "Check the configuration", check)
}

func writeConfigCheck(w io.Writer, file string, problems problem.List, cfg *config.Config) {
	if len(problems) > 0 {
		printProblems(w, problems)
		fmt.Fprintf(w, "%s: %s\n", file, count(len(problems), "problem"))
		return
	}
	redis := "the embedded Redis"
	if !cfg.Redis.Embedded() {
		redis = "Redis"
	}
	fmt.Fprintf(w, "%s is fine: %s, %s, a ledger in %s, %s, listening on %s://%s\n", file,
		count(len(cfg.Sources), "source"), count(len(cfg.Sinks), "sink"), cfg.Ledger.Driver, redis, cfg.HTTP.Scheme(), cfg.HTTP.Listen)
}

// writeSourceChecks writes the dangerous rights of each source's user, and then the SQL that revokes the rights.
func writeSourceChecks(w io.Writer, checks []app.SourceCheck) {
	for _, s := range checks {
		switch {
		case s.Error != "":
			fmt.Fprintf(w, "source %s: not checked: %s\n", s.Name, s.Error)
		case s.Unasked:
			fmt.Fprintf(w, "source %s: reached; %s does not say what a user may do\n", s.Name, s.Driver)
		case len(s.Dangers) == 0:
			fmt.Fprintf(w, "source %s: its user may read; no other right was found\n", s.Name)
		default:
			fmt.Fprintf(w, "source %s: its user may do %s beside reading\n", s.Name, count(len(s.Dangers), "thing"))
			for _, d := range s.Dangers {
				fmt.Fprintf(w, "  %s %s\n", d.Name, d.Does)
			}
			fmt.Fprintln(w, "  For the DBA. A REVOKE from PUBLIC takes the right from other users, too: grant it to the users that need it.")
			for _, d := range s.Dangers {
				fmt.Fprintf(w, "    %s\n", d.Revoke)
			}
		}
	}
}

// diagnostic is a problem in the form for editors. Lines and columns count from 1, columns in characters. A diagnostic
// without a line is about the whole file.
type diagnostic struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndColumn int    `json:"endColumn,omitempty"` // the column after the last character, if known
	Severity  string `json:"severity"`            // error, warning or note
	Code      string `json:"code"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
	Rule      string `json:"rule,omitempty"`
}

// The severities. A warning is about something that works but may be a mistake, or that could not be checked. A note is
// only information.
const (
	severityError   = "error"
	severityWarning = "warning"
	severityNote    = "note"
)

// diagnostics returns the problems, warnings and notes as one list. The list is never nil, so that JSON has [] and not
// null.
func diagnostics(problems, warnings, notes problem.List) []diagnostic {
	list := []diagnostic{}
	add := func(severity string, found problem.List) {
		for _, p := range found {
			list = append(list, diagnostic{
				File: p.File, Line: p.Line, Column: p.Col, EndColumn: p.End(), Severity: severity,
				Code: p.Code, Message: p.Message, Hint: p.Hint, Rule: p.Rule,
			})
		}
	}
	add(severityError, problems)
	add(severityWarning, warnings)
	add(severityNote, notes)
	return list
}

// printNotes writes each note in one line, with its hint.
func printNotes(w io.Writer, list problem.List) {
	for _, p := range list {
		text := strings.Replace(p.Error(), ": "+p.Code+": ", ": note: "+p.Code+": ", 1)
		if p.Hint != "" {
			text += " (" + p.Hint + ")"
		}
		fmt.Fprintln(w, text)
	}
}

func printWarnings(w io.Writer, list problem.List) {
	for _, p := range list {
		fmt.Fprintln(w, strings.Replace(p.String(), ": "+p.Code+": ", ": warning: "+p.Code+": ", 1))
	}
}
