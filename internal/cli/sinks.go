package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

func (c *command) sinks() *cobra.Command {
	return group("sinks", "Where notices go, and how each sink is doing", c.sinksList(), c.sinksShow())
}

func (c *command) sinksList() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:   "list",
		Short: "List the sinks, and how they do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var form wire.SinksForm
			raw, err := c.client().ask(cmd.Context(), http.MethodGet, "/sinks", nil, &form)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { writeSinks(w, c.width(), form.Sinks, time.Now()) })
		},
	})
}

func (c *command) sinksShow() *cobra.Command {
	return c.withServer(&cobra.Command{
		Use:     "show SINK",
		Short:   "Show a sink: its deliveries by state, breaker, limits and last error",
		Example: "  tallyman sinks show gateway",
		Args:    takes("SINK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s wire.SinkForm
			raw, err := c.client().ask(cmd.Context(), http.MethodGet, "/sinks/"+url.PathEscape(args[0]), nil, &s)
			if err != nil {
				return err
			}
			return c.print(raw, func(w io.Writer) { writeSink(w, &s, time.Now()) })
		},
	})
}

// writeSinks writes a line for each sink.
func writeSinks(w io.Writer, width int, list []wire.SinkForm, now time.Time) {
	header := []string{"SINK", "TYPE", "STATE", "PENDING", "FAILED", "TIMED OUT", "LAST ERROR", "IN FLIGHT", "LAST SENT", "SENT", "CANCELED"} // what matters most first
	rows := make([][]string, len(list))
	for i := range list {
		s := &list[i]
		flight, sent, last := "-", "-", s.Error
		if p := s.Push; p != nil {
			flight, last = strconv.Itoa(p.InFlight), standing(p)
			if p.LastSent != nil {
				sent = stamp(*p.LastSent)
			}
		}
		d := &s.Deliveries
		rows[i] = []string{s.Name, s.Type, sinkState(s, now), upTo(d.Pending), upTo(d.Failed), upTo(d.TimedOut), orDash(last), flight, sent, upTo(d.Sent), upTo(d.Canceled)}
	}
	whole := slices.DeleteFunc(slices.Clone(header), func(name string) bool { return name == "LAST ERROR" })
	terminal.Spread(w, width, header, rows, whole)
}

// upTo is a number of deliveries; the server counts no further than the highest.
func upTo(n int64) string {
	if n >= ledger.MostCounted {
		return strconv.Itoa(ledger.MostCounted) + "+"
	}
	return strconv.FormatInt(n, 10)
}

// standing is the last error, where nothing was sent since.
func standing(p *wire.PushStatusForm) string {
	if p.LastSent != nil && p.LastErrorAt != nil && !p.LastErrorAt.After(*p.LastSent) {
		return ""
	}
	return p.LastError
}

// sinkState says in few words whether a sink takes deliveries.
func sinkState(s *wire.SinkForm, now time.Time) string {
	p := s.Push
	switch {
	case p == nil && s.OK:
		return "ok"
	case p == nil:
		return "not ready"
	case p.Breaker.State == "open" && p.Breaker.Until != nil && p.Breaker.Until.After(now):
		return "open, " + until(*p.Breaker.Until, now) + " more"
	case p.Breaker.State != "closed" && p.InFlight == 0 && s.Deliveries.Pending == 0:
		return "tries the next" // which has yet to come
	case p.Breaker.State != "closed":
		return "trying one" // half open, or about to be
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
	section(w, lines)
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
		section(w, [][2]string{
			{"timeout", o.Timeout},
			{"concurrency", strconv.Itoa(o.Concurrency)},
			{"rate", o.Rate},
			{"breaker", strconv.Itoa(o.Failures) + " failures, open " + o.Open},
			{"batch", batchText(o)},
		})
	}
}

// section writes names and values; what has none is left away.
func section(w io.Writer, lines [][2]string) {
	for _, l := range lines {
		if l[1] != "" {
			fmt.Fprintf(w, "  %-11s  %s\n", l[0], l[1])
		}
	}
}

func batchText(o *wire.PushSettingsForm) string {
	if o.BatchMax == 1 {
		return ""
	}
	return "up to " + strconv.Itoa(o.BatchMax) + ", waits " + o.BatchWait
}
