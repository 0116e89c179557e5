package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// statusCommands has the command that shows the state of a server.
type statusCommands struct{ *command }

func (c statusCommands) status() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "status",
		Short:   "Show the state of a running server; exit code 1 if something is wrong",
		Example: "  tallyman status --server http://wms-2:8080",
		Args:    cobra.NoArgs,
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

// oldestWell is how long a delivery may wait before a person should look at its sink. The alert TallymanDeliveriesLate
// has the same limit.
const oldestWell = 10 * time.Minute

// ailments returns the problems that need a person.
func ailments(s *wire.StatusReport) []string {
	var list []string
	for _, h := range s.Health {
		if !h.OK {
			list = append(list, partAilment(&h))
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
		name := r.ID + within(r.Scope)
		switch {
		case !r.Enabled:
		case !r.Verified:
			list = append(list, "rule "+name+" does not run: "+r.Reason)
		case r.LastRun != nil && r.LastRun.Outcome == "failed":
			list = append(list, "rule "+name+" failed at "+stamp(r.LastRun.Started)+": "+r.LastRun.Error)
		case r.LastRun != nil && r.LastRun.Outcome == "degraded":
			list = append(list, "rule "+name+" is degraded: "+degradation(r.LastRun))
		}
		if r.Late {
			list = append(list, "rule "+name+" is late: its next firing should have started "+span(r.Overdue)+" ago")
		}
	}
	for i := range s.Sinks {
		sink := &s.Sinks[i]
		if told := slices.ContainsFunc(s.Health, func(h wire.Health) bool { return !h.OK && h.Name == sink.Name }); !sink.OK && !told {
			list = append(list, "the sink "+sink.Name+" has a problem: "+sink.Error)
		}
		if sink.OldestSecs >= oldestWell.Seconds() {
			list = append(list, "the oldest delivery to the sink "+sink.Name+" has waited for "+span(sink.OldestSecs))
		}
	}
	for _, p := range s.Problems {
		list = append(list, fmt.Sprintf("%s:%d:%d: %s: %s", p.File, p.Line, p.Col, p.Code, p.Message))
	}
	return list
}

// partAilment returns the problem of a part of the node.
func partAilment(h *wire.Health) string {
	switch h.Part {
	case "commits":
		return "the ledger refuses commits" + since(h.Since) + ": " + h.Error
	case "restore":
		return h.Error + noticed(h.Since)
	case "scopes":
		return "the scopes of the rule " + h.Name + " are not up to date with their query" + since(h.Since) + ": " + h.Error
	case "subscriptions":
		return "the subscriptions are not up to date with the source " + h.Name + since(h.Since) + ": " + h.Error
	}
	return "the " + strings.TrimSpace(h.Part+" "+h.Name) + " has a problem" + since(h.Since) + ": " + h.Error
}

// degradation returns why a run is degraded.
func degradation(run *wire.RunStatus) string {
	text := fmt.Sprintf("its run at %s could not judge, or could not make notices of, %d of %s", stamp(run.Started), run.Errored, count(run.Rows, "row"))
	switch {
	case run.Strays > 0 && len(run.Samples) > 0:
		return run.Samples[0]
	case run.Errored == 0:
		text = "its run at " + stamp(run.Started) + " saw keys repeat"
	}
	if len(run.Samples) > 0 {
		text += ": " + run.Samples[0]
	}
	return text
}

// span formats a number of seconds.
func span(seconds float64) string {
	return strictyaml.FormatDuration(time.Duration(seconds * float64(time.Second)).Truncate(time.Second))
}

func noticed(at *time.Time) string {
	if at == nil {
		return ""
	}
	return " (noticed " + stamp(*at) + ")"
}

func since(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " since " + stamp(*t)
}

// writeStatus writes the state of the server, with the problems first.
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
	if text := clockTerm(s.Clock); text != "" {
		fmt.Fprintln(w, text)
	}
	list := ailments(s)
	if len(list) == 0 {
		fmt.Fprintln(w, "No problems.")
	}
	for _, ailment := range list {
		terminal.Wrap(w, width, "  ! ", ailment)
	}
	for _, warning := range s.Warnings {
		terminal.Wrap(w, width, "  warning: ", terminal.OneLine(warning))
	}
	writeNodes(w, width, s.Nodes)
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

// writeNodes writes a line for each node, with the lanes that the node holds.
func writeNodes(w io.Writer, width int, nodes []wire.NodeStatus) {
	if len(nodes) == 0 {
		return
	}
	fmt.Fprintln(w)
	rows := make([][]string, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		version := n.Version
		if n.Differs {
			version += " (other program or rules)"
		}
		rows[i] = []string{n.Name, version, stamp(n.Started), orDash(heldLanes(n.Lanes))}
	}
	terminal.Spread(w, width, []string{"NODE", "VERSION", "SINCE", "LANES"}, rows, nil)
}

// heldLanes returns the names of the sinks, each with its warehouses.
func heldLanes(lanes []wire.HeldLanes) string {
	list := make([]string, len(lanes))
	for i, lane := range lanes {
		list[i] = strings.TrimSpace(lane.Sink + " " + strings.Join(lane.Warehouses, " "))
	}
	return strings.Join(list, ", ")
}

// sinkCommands are the commands about sinks.
type sinkCommands struct{ *command }

func (c sinkCommands) sinks() *cobra.Command {
	return group("sinks", "Where notices go, and the state of each sink", c.list(), c.show())
}

func (c sinkCommands) list() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "list",
		Short:   "List the sinks and their states",
		Example: "  tallyman sinks list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, "/sinks", nil, func(w io.Writer, form *wire.SinksForm) {
				writeSinks(w, c.width(), form.Sinks, time.Now())
			})
		},
	})
}

func (c sinkCommands) show() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "show SINK",
		Short:   "Show a sink: its deliveries by state, breaker, limits and last error",
		Example: "  tallyman sinks show gateway",
		Args:    takes("SINK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), c.command, http.MethodGet, "/sinks/"+url.PathEscape(args[0]), nil, func(w io.Writer, s *wire.SinkForm) {
				writeSink(w, s, time.Now())
			})
		},
	})
}

// writeSinks writes a line for each sink.
func writeSinks(w io.Writer, width int, list []wire.SinkForm, now time.Time) {
	header := []string{"SINK", "TYPE", "STATE", "PENDING", "FAILED", "TIMED OUT", "OLDEST", "LAST ERROR", "IN FLIGHT", "LAST SENT", "SENT", "CANCELED"} // The most important columns come first.
	rows := make([][]string, len(list))
	for i := range list {
		s := &list[i]
		flight, sent, last := terminal.Nothing, terminal.Nothing, s.Error
		if p := s.Push; p != nil {
			flight, sent, last = strconv.Itoa(p.InFlight), when(p.LastSent), standing(p)
		}
		d := &s.Deliveries
		rows[i] = []string{s.Name, s.Type, sinkState(s, now), upTo(d.Pending), upTo(d.Failed), upTo(d.TimedOut), waited(s), orDash(last), flight, sent, upTo(d.Sent), upTo(d.Canceled)}
	}
	whole := slices.DeleteFunc(slices.Clone(header), func(name string) bool { return name == "LAST ERROR" })
	terminal.Spread(w, width, header, rows, whole)
}

// waited returns how long the oldest delivery has waited.
func waited(s *wire.SinkForm) string {
	if s.Oldest == nil {
		return terminal.Nothing
	}
	return span(s.OldestSecs)
}

// upTo formats a number of deliveries. The server stops counting at its limit; the text then has a +.
func upTo(n int64) string {
	if n >= ledger.MostCounted {
		return strconv.Itoa(ledger.MostCounted) + "+"
	}
	return strconv.FormatInt(n, 10)
}

// standing returns the last error, if nothing was sent after the error.
func standing(p *wire.PushStatusForm) string {
	if p.LastSent != nil && p.LastErrorAt != nil && !p.LastErrorAt.After(*p.LastSent) {
		return ""
	}
	return p.LastError
}

// sinkState returns in a few words whether a sink takes deliveries.
func sinkState(s *wire.SinkForm, now time.Time) string {
	p := s.Push
	switch {
	case p == nil && s.OK:
		return "ok"
	case p == nil:
		return "failing"
	case p.Breaker.State == "open" && p.Breaker.Until != nil && p.Breaker.Until.After(now):
		return "open, " + until(*p.Breaker.Until, now) + " more"
	case p.Breaker.State != "closed" && p.InFlight == 0 && s.Deliveries.Pending == 0:
		return "tries the next" // The next delivery has not arrived yet.
	case p.Breaker.State != "closed":
		return "trying one" // The breaker is half open, or will be at the next delivery.
	case p.HeldUntil != nil && p.HeldUntil.After(now):
		return "held, " + until(*p.HeldUntil, now) + " more"
	case p.Breaker.Failures > 0:
		return "failing"
	}
	return "ok"
}

// writeSink writes one sink.
func writeSink(w io.Writer, s *wire.SinkForm, now time.Time) {
	fmt.Fprintf(w, "%s (%s): %s\n", s.Name, s.Type, sinkState(s, now))
	lines := [][2]string{}
	if p := s.Push; p == nil {
		lines = append(lines, [2]string{"error", terminal.OneLine(s.Error)})
	} else {
		b := &p.Breaker
		breaker := b.State + " since " + stamp(b.Since)
		if b.Until != nil {
			breaker += ", one delivery is tried at " + stamp(*b.Until)
		}
		failures := ""
		if b.Failures > 0 {
			failures = strconv.Itoa(b.Failures) + " in a row"
		}
		lines = append(lines,
			[2]string{"breaker", breaker}, [2]string{"failures", failures}, [2]string{"held until", at(p.HeldUntil, now)},
			[2]string{"in flight", strconv.Itoa(p.InFlight) + ", and " + strconv.Itoa(p.Waiting) + " that are next"},
			[2]string{"last sent", at(p.LastSent, now)}, [2]string{"last error", terminal.OneLine(p.LastError)}, [2]string{"error at", at(p.LastErrorAt, now)},
		)
	}
	if s.Oldest != nil {
		lines = append(lines, [2]string{"oldest", "waits for " + span(s.OldestSecs)})
	}
	section(w, 11, lines)
	d := &s.Deliveries
	fmt.Fprintln(w, "\nDeliveries")
	for _, n := range []struct {
		name  string
		count int64
	}{{"pending", d.Pending}, {"sent", d.Sent}, {"failed", d.Failed}, {"timed out", d.TimedOut}, {"canceled", d.Canceled}} {
		fmt.Fprintf(w, "  %-11s  %s\n", n.name, upTo(n.count))
	}
	if o := s.Settings; o != nil {
		fmt.Fprintln(w, "\nConfiguration")
		section(w, 11, [][2]string{
			{"timeout", o.Timeout},
			{"concurrency", strconv.Itoa(o.Concurrency)},
			{"rate", o.Rate},
			{"breaker", strconv.Itoa(o.Failures) + " failures, open " + o.Open},
			{"batch", batchText(o)},
		})
	}
}

func batchText(o *wire.PushSettingsForm) string {
	if o.BatchMax == 1 {
		return ""
	}
	return "up to " + strconv.Itoa(o.BatchMax) + ", waits " + o.BatchWait
}
