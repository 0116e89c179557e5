package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// rewindFlags are the flags of rules rewind.
type rewindFlags struct {
	scope, to, reason string
	dryRun, yes       bool
}

func (c ruleCommands) rewind() *cobra.Command {
	var f rewindFlags
	cmd := c.withServer(&cobra.Command{
		Use:   "rewind RULE --to POSITION",
		Short: "Move the watermark of a rule, back or forward, on a running server",
		Long: `Move the watermark of a rule of mode event, in one scope or in all of them. First the command shows the old and the new
position of each watermark, and how many notices would follow. Then the command asks.

The next firing on any node begins at the new position. After a rewind back, rows are judged again. An event whose notice the ledger still has gets no second
notice. An event that was missed, or dropped by a silence, gets its notice. A rewind forward skips rows. While a firing of the rule runs, nothing is moved.

A POSITION has a value for each column of the watermark, separated by commas. For a column of times the value is a time, or a duration before now.`,
		Example: `  tallyman rules rewind counts --to 4711 --dry-run
  tallyman rules rewind picks --to=-12h --scope 119240 --reason "rows of the night shift were missed"
  tallyman rules rewind moves --to 2026-11-01T00:00:00Z,4711 --reason "skip the import of October" --yes`,
		Args: takes("RULE"),
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.to == "":
			return usage("%s needs --to: a value for each column of the watermark", cmd.CommandPath())
		case f.reason == "" && !f.dryRun:
			return usage("%s needs --reason: the audit keeps the reason; --dry-run only counts", cmd.CommandPath())
		}
		return c.rewindRule(cmd, args[0], &f)
	}
	cmd.Flags().StringVar(&f.to, "to", "", "the new position: a number, a text, a time such as 2026-11-01T00:00:00Z, or a duration before now: --to=-12h")
	cmd.Flags().StringVar(&f.scope, "scope", "", "one scope; without it, every scope of the rule")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the audit")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "count the notices that would follow, and move nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// rewindRule shows the consequences, asks the user, and moves the watermarks to the shown position.
func (c ruleCommands) rewindRule(cmd *cobra.Command, rule string, f *rewindFlags) error {
	path := withQuery(rulePath(rule, "/rewind"), queryOf(map[string]string{"scope": f.scope}))
	var shown wire.RewoundForm
	raw, err := c.client().ask(cmd.Context(), http.MethodPost, path, wire.RewindAskForm{To: []string{f.to}, DryRun: true}, &shown)
	if err != nil {
		return err
	}
	if f.dryRun {
		return c.print(raw, func(w io.Writer) { writeForecast(w, &shown) })
	}
	writeForecast(c.Err, &shown)
	if !f.yes {
		sure, err := terminal.NewPrompt(c.In, c.Err).Yes(fmt.Sprintf("Move the watermark of %s?", rule), false)
		if err != nil {
			return err
		}
		if !sure {
			return &exitError{ExitProblems, errors.New("nothing was changed")}
		}
	}
	var form wire.RewoundForm
	raw, err = c.client().ask(cmd.Context(), http.MethodPost, path, wire.RewindAskForm{To: shownPosition(&shown), Reason: f.reason}, &form)
	if err != nil {
		return err
	}
	if err := c.print(raw, func(w io.Writer) { writeRewound(w, &form) }); err != nil {
		return err
	}
	for i := range form.Scopes {
		if !form.Scopes[i].Moved {
			return found()
		}
	}
	return nil
}

// shownPosition returns the shown position. A duration counts from the time of the question, so the second request
// names the position itself.
func shownPosition(shown *wire.RewoundForm) []string {
	var to []string
	for _, m := range shown.Scopes[0].Watermark {
		to = append(to, textOf(m.After))
	}
	return to
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func writeForecast(w io.Writer, form *wire.RewoundForm) {
	for i := range form.Scopes {
		s := &form.Scopes[i]
		fmt.Fprintf(w, "%s%s: %s\n", form.Rule, within(s.Scope), moveText(s))
		if n := s.Follows; n != nil {
			fmt.Fprintf(w, "  %s\n", followsText(n))
		}
	}
}

// moveText returns the old and the new position.
func moveText(s *wire.RewoundScopeForm) string {
	var parts []string
	for _, m := range s.Watermark {
		before := "none yet"
		if m.Before != nil {
			before = terminal.OneLine(*m.Before)
		}
		parts = append(parts, fmt.Sprintf("%s %s → %s", m.Name, before, terminal.OneLine(textOf(m.After))))
	}
	return strings.Join(parts, ", ")
}

// followsText returns the number of notices that the next firing would make.
func followsText(n *wire.RewindCountsForm) string {
	if n.Error != "" {
		return "the next firing would fail: " + terminal.OneLine(n.Error)
	}
	least := ""
	if n.More {
		least = "at least "
	}
	text := fmt.Sprintf("%s%s would follow: %s judged, %d matched", least, count(n.Notices, "notice"), count(n.Rows, "row"), n.Matched)
	if n.Told > 0 {
		text += fmt.Sprintf(", %d with a notice already", n.Told)
	}
	if n.Silenced > 0 {
		text += fmt.Sprintf(", %d silenced", n.Silenced)
	}
	return text
}

func writeRewound(w io.Writer, form *wire.RewoundForm) {
	for i := range form.Scopes {
		s := &form.Scopes[i]
		if !s.Moved {
			fmt.Fprintf(w, "Not moved: %s%s: %s\n", form.Rule, within(s.Scope), terminal.OneLine(s.Error))
			continue
		}
		fmt.Fprintf(w, "Moved: %s%s: %s. The next firing begins there.\n", form.Rule, within(s.Scope), moveText(s))
	}
}
