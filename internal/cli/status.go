package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

func (c *command) status() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "status",
		Short: "Show how a running server is doing; exit code 1 if something is wrong",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s wire.StatusReport
			raw, err := c.client().ask(cmd.Context(), http.MethodGet, "/status", nil, &s)
			if err != nil {
				return err
			}
			err = c.print(raw, func(w io.Writer) { writeStatus(w, c.width(), &s, time.Now()) })
			if err == nil && len(ailments(&s)) > 0 {
				return found()
			}
			return err
		},
	})
}

// ailments are what a person should look at.
func ailments(s *wire.StatusReport) []string {
	var list []string
	for _, h := range s.Health {
		if !h.OK {
			list = append(list, "the "+strings.TrimSpace(h.Part+" "+h.Name)+" is not well"+since(h.Since)+": "+h.Error)
		}
	}
	if s.Paused != nil {
		list = append(list, "every rule is stopped"+switchedBy(s.Paused))
	}
	for _, n := range s.Nodes {
		if n.Differs {
			list = append(list, "node "+n.Name+" runs another program or other rules: version "+n.Version+", rules "+n.Rules)
		}
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		name := r.ID
		if r.Scope != "" {
			name += " in " + r.Scope
		}
		switch {
		case !r.Enabled:
		case !r.Verified:
			list = append(list, "rule "+name+" does not run: "+r.Reason)
		case r.LastRun != nil && r.LastRun.Outcome == "failed":
			list = append(list, "rule "+name+" failed at "+stamp(r.LastRun.Started)+": "+r.LastRun.Error)
		}
	}
	for _, p := range s.Problems {
		list = append(list, fmt.Sprintf("%s:%d:%d: %s: %s", p.File, p.Line, p.Col, p.Code, p.Message))
	}
	return list
}

func since(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " since " + stamp(*t)
}

// writeStatus writes what is wrong first.
func writeStatus(w io.Writer, width int, s *wire.StatusReport, now time.Time) {
	fmt.Fprintf(w, "%s runs tallyman %s since %s (%s)\n", s.Node, s.Version, stamp(s.Started), until(now, s.Started))
	running, ids := 0, map[string]bool{}
	for i := range s.Rules {
		if ids[s.Rules[i].ID] = true; s.Rules[i].Enabled && s.Rules[i].Verified {
			running++
		}
	}
	fmt.Fprintf(w, "%s: %d of %d run, each scope counted\n", count(len(ids), "rule"), running, len(s.Rules))
	if len(s.Nodes) > 1 {
		fmt.Fprintf(w, "%d nodes run\n", len(s.Nodes))
	}
	list := ailments(s)
	if len(list) == 0 {
		fmt.Fprintln(w, "Everything is well.")
	}
	for _, ailment := range list {
		terminal.Wrap(w, width, "  ! ", ailment)
	}
	if len(s.Deliveries) == 0 {
		return
	}
	fmt.Fprintln(w)
	rows := make([][]string, len(s.Deliveries))
	for i, d := range s.Deliveries {
		rows[i] = []string{d.Sink, strings.ReplaceAll(d.State, "_", " "), upTo(d.Count)}
	}
	terminal.Spread(w, width, []string{"SINK", "DELIVERIES", "COUNT"}, rows, nil)
}
