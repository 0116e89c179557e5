package cli

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// silenceCommands are the commands about silences.
type silenceCommands struct{ *command }

func (c silenceCommands) silences() *cobra.Command {
	return group("silences", "Hold back notices for a while, or in maintenance windows that recur",
		c.list(), c.show(), c.add(), c.expire())
}

func (c silenceCommands) list() *cobra.Command {
	var states []string
	var all bool
	cmd := c.withServer(&cobra.Command{
		Use:     "list",
		Short:   "List the silences that are active or will be, the latest first",
		Example: "  tallyman silences list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"state": states}
			if all && len(states) > 0 {
				return usage("%s takes --all or --state, not both", cmd.CommandPath())
			}
			if !all && len(states) == 0 {
				query["state"] = []string{"active", "pending"}
			}
			return show(cmd.Context(), c.command, http.MethodGet, withQuery("/silences", query), nil, func(w io.Writer, list *wire.SilencesForm) {
				writeSilences(w, c.width(), list, time.Now())
			})
		},
	})
	cmd.Flags().StringSliceVar(&states, "state", nil, "only in this state: pending, active or expired; may be repeated")
	cmd.Flags().BoolVar(&all, "all", false, "also silences that are over")
	return cmd
}

func (c silenceCommands) show() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "show SILENCE",
		Short:   "Show a silence and what it holds back now",
		Example: "  tallyman silences show s_5rmwxhkqj2ab",
		Args:    takes("SILENCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.oneSilence(cmd, http.MethodGet, silencePath(args[0]), nil, "")
		},
	})
}

func (c silenceCommands) expire() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "expire SILENCE",
		Short:   "End a silence now; the next runs make the notices that it held back",
		Example: "  tallyman silences expire s_5rmwxhkqj2ab",
		Args:    takes("SILENCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.oneSilence(cmd, http.MethodPost, silencePath(args[0])+"/expire", nil, "")
		},
	})
}

func (c silenceCommands) add() *cobra.Command {
	var f silenceFlags
	cmd := c.withServer(&cobra.Command{
		Use:   "add MATCHER...",
		Short: "Add a silence, for a time or in maintenance windows",
		Long: `Hold back the notices and deliveries that match all the matchers, for a time or in maintenance windows that recur. Findings open, last and
resolve as before. When the silence is over, the next run of a rule makes the notices of findings that still fire.

A matcher is NAME=TEXT, NAME!=TEXT, NAME=~EXPRESSION or NAME!~EXPRESSION. A name is rule, type, warehouse, scope, key, or the name of a
label. Write the key of a finding as its notice has it; for a rule with group_by it is the key of the group. An
expression (RE2) has to fit the whole text. Put matchers in quotes, so that the shell does not change them.`,
		Example: `  tallyman silences add 'rule=negative-bin-stock' 'warehouse=~1192.*' 'area!=inbound' --for 2h --comment "stocktake"
  tallyman silences add 'rule=negative-bin-stock' 'key=[119240,"A-01","S1"]' --for 1d --comment "the bin is blocked"
  tallyman silences add 'warehouse=119240' --from 2026-06-01T22:00:00+08:00 --until 2026-06-02T06:00:00+08:00
  tallyman silences add 'warehouse=119240' --cron "0 22 * * 6" --timezone Asia/Shanghai --duration 8h --comment "weekly stocktake"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := f.fields(cmd, args)
			if err != nil {
				return err
			}
			return c.oneSilence(cmd, http.MethodPost, "/silences", body, "Added.")
		},
	})
	f.add(cmd)
	return cmd
}

// silenceFlags are the flags of a new silence.
type silenceFlags struct {
	from, until, lasts, comment string
	window                      wire.WindowForm
}

func (f *silenceFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.lasts, "for", "", "how long the silence lasts, such as 2h or 1d")
	cmd.Flags().StringVar(&f.from, "from", "", "when the silence begins, such as 2026-06-01T22:00:00+08:00 (default now)")
	cmd.Flags().StringVar(&f.until, "until", "", "when the silence ends")
	cmd.Flags().StringVar(&f.window.Cron, "cron", "", "when a maintenance window opens, such as \"0 22 * * 6\"")
	cmd.Flags().StringVar(&f.window.Duration, "duration", "", "how long the window stays open, such as 8h")
	cmd.Flags().StringVar(&f.window.Timezone, "timezone", "", "the timezone of the cron, such as Asia/Shanghai (default UTC)")
	cmd.Flags().StringVar(&f.comment, "comment", "", "the reason, for other readers")
	hasLines(cmd.Flags(), "comment")
}

// fields returns the body of the request.
func (f *silenceFlags) fields(cmd *cobra.Command, matchers []string) (*wire.SilenceFields, error) {
	body := &wire.SilenceFields{Matchers: matchers, For: f.lasts, Comment: f.comment}
	switch {
	case len(matchers) == 0:
		return nil, usage("%s takes at least one MATCHER, such as 'rule=negative-bin-stock'", cmd.CommandPath())
	case f.window.Cron == "" && anyFlag(cmd, "duration", "timezone"):
		return nil, usage("%s: --duration and --timezone describe a window; --cron says when the window opens", cmd.CommandPath())
	case f.window.Cron != "" && f.window.Duration == "":
		return nil, usage("%s: --duration is missing: how long the window stays open", cmd.CommandPath())
	case f.lasts != "" && f.until != "":
		return nil, usage("%s takes --for or --until, not both", cmd.CommandPath())
	case f.window.Cron == "" && f.lasts == "" && f.until == "":
		return nil, usage("%s needs an end: --for, --until, or the windows of --cron and --duration", cmd.CommandPath())
	}
	if f.window.Cron != "" {
		body.Window = &f.window
	}
	for name, to := range map[string]**time.Time{"from": &body.From, "until": &body.Until} {
		text := cmd.Flags().Lookup(name).Value.String()
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, usage("--%s takes a time such as 2026-06-01T22:00:00+08:00, not %q", name, text)
		}
		*to = &t
	}
	return body, nil
}

// oneSilence makes a request about one silence, and prints the silence.
func (c silenceCommands) oneSilence(cmd *cobra.Command, method, path string, body any, done string) error {
	return show(cmd.Context(), c.command, method, path, body, func(w io.Writer, s *wire.SilenceForm) {
		if done != "" {
			fmt.Fprintln(w, done)
		}
		writeSilence(w, c.width(), s, time.Now())
		warnOfSilence(w, c.width(), s)
	})
}

func silencePath(id string) string { return "/silences/" + url.PathEscape(id) }

// writeSilences writes a line for each silence.
func writeSilences(w io.Writer, width int, list *wire.SilencesForm, now time.Time) {
	if len(list.Silences) == 0 {
		fmt.Fprintln(w, "No silences match.")
		return
	}
	header := []string{"SILENCE", "STATE", "MATCHERS", "WHEN", "HOLDS", "COMMENT", "BY"}
	rows := make([][]string, len(list.Silences))
	for i := range list.Silences {
		s := &list.Silences[i]
		rows[i] = []string{s.ID, s.State, strings.Join(s.Matchers, " "), silenceWhen(s, now), orDash(silenceHolds(s)), orDash(s.Comment), s.Author}
	}
	terminal.Spread(w, width, header, rows, []string{"SILENCE", "STATE", "WHEN"})
	for i := range list.Silences {
		warnOfSilence(w, width, &list.Silences[i])
	}
}

// warnOfSilence writes the server's warning about the silence, if there is one.
func warnOfSilence(w io.Writer, width int, s *wire.SilenceForm) {
	if s.Warning != "" {
		terminal.Wrap(w, width, "warning: ", "silence "+s.ID+": "+terminal.OneLine(s.Warning))
	}
}

// silenceWhen returns a short text with the end or the start of a silence.
func silenceWhen(s *wire.SilenceForm, now time.Time) string {
	switch {
	case s.ActiveUntil != nil:
		return "ends in " + until(*s.ActiveUntil, now)
	case s.Next != nil:
		return "begins in " + until(*s.Next, now)
	case s.EndedAt != nil:
		return "ended " + stamp(*s.EndedAt)
	case s.Until != nil:
		return "ended " + stamp(*s.Until)
	}
	return terminal.Nothing
}

// silenceHolds returns how much a silence holds back. silenceHolds is empty if the silence holds back nothing.
func silenceHolds(s *wire.SilenceForm) string {
	var parts []string
	if s.Findings > 0 {
		parts = append(parts, count(s.Findings, "finding"))
	}
	if s.Deliveries > 0 {
		parts = append(parts, count(s.Deliveries, "delivery"))
	}
	if s.Events > 0 {
		parts = append(parts, count(int(s.Events), "event")+" dropped")
	}
	return strings.Join(parts, ", ")
}

// writeSilence writes one silence.
func writeSilence(w io.Writer, width int, s *wire.SilenceForm, now time.Time) {
	fmt.Fprintf(w, "Silence %s: %s\n", s.ID, s.State)
	window := ""
	if s.Window != nil {
		window = fmt.Sprintf("%s (%s), open for %s", s.Window.Cron, cmp.Or(s.Window.Timezone, "UTC"), s.Window.Duration)
	}
	ended := at(s.EndedAt, now)
	if ended != "" {
		ended += " by " + s.EndedBy
	}
	lines := [][2]string{
		{"matchers", strings.Join(s.Matchers, "\n")},
		{"from", at(&s.From, now)},
		{"until", at(s.Until, now)},
		{"window", window},
		{"active", activeLong(s, now)},
		{"holds", silenceHolds(s)},
		{"comment", s.Comment},
		{"added", stamp(s.CreatedAt) + " by " + s.Author},
		{"ended", ended},
	}
	for _, l := range lines {
		if l[1] != "" {
			terminal.Wrap(w, width, fmt.Sprintf("  %-8s  ", l[0]), l[1])
		}
	}
}

func activeLong(s *wire.SilenceForm, now time.Time) string {
	switch {
	case s.ActiveUntil != nil:
		return "until " + at(s.ActiveUntil, now)
	case s.Next != nil:
		return "from " + at(s.Next, now)
	}
	return ""
}
