package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// writeSilences writes a line for each silence.
func writeSilences(w io.Writer, width int, list *wire.SilencesForm, now time.Time) {
	if len(list.Silences) == 0 {
		fmt.Fprintln(w, "There are no such silences.")
		return
	}
	header := []string{"SILENCE", "STATE", "MATCHERS", "WHEN", "HOLDS", "COMMENT", "BY"}
	rows := make([][]string, len(list.Silences))
	for i := range list.Silences {
		s := &list.Silences[i]
		rows[i] = []string{s.ID, s.State, strings.Join(s.Matchers, " "), silenceWhen(s, now), orDash(silenceHolds(s)), orDash(s.Comment), s.Author}
	}
	terminal.Spread(w, width, header, rows, []string{"SILENCE", "STATE", "WHEN"})
}

// silenceWhen says in few words when a silence ends, or begins.
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
	return "-"
}

// silenceHolds says how much a silence holds back; "" = nothing.
func silenceHolds(s *wire.SilenceForm) string {
	var parts []string
	if s.Findings > 0 {
		parts = append(parts, count(s.Findings, "finding"))
	}
	switch {
	case s.Deliveries == 1:
		parts = append(parts, "1 delivery")
	case s.Deliveries > 1:
		parts = append(parts, fmt.Sprintf("%d deliveries", s.Deliveries))
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
		zone := s.Window.Timezone
		if zone == "" {
			zone = "UTC"
		}
		window = fmt.Sprintf("%s (%s), open for %s", s.Window.Cron, zone, s.Window.Duration)
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
