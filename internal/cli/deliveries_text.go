package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
)

// writeDeliveries writes a line for each delivery.
func writeDeliveries(w io.Writer, width int, list *wire.DeliveriesForm, now time.Time) {
	if len(list.Deliveries) == 0 {
		fmt.Fprintln(w, "There are no such deliveries.")
		return
	}
	header := []string{"DELIVERY", "SINK", "STATE", "ATTEMPTS", "NEXT", "LAST ERROR", "TITLE", "WAREHOUSE", "AGE", "NOTICE"} // what matters most first
	if width < roomForNotices {
		header = header[:len(header)-1]
	}
	rows := make([][]string, len(list.Deliveries))
	for i := range list.Deliveries {
		d := &list.Deliveries[i]
		rows[i] = []string{
			strconv.FormatInt(d.ID, 10), d.Sink, d.State, strconv.Itoa(d.Attempts), next(d, now), orDash(d.LastError), d.Title, d.Warehouse, until(now, d.CreatedAt), d.Notice,
		}
	}
	terminal.Spread(w, width, header, rows, []string{"DELIVERY", "STATE", "ATTEMPTS", "NEXT", "AGE", "NOTICE"})
	moreDeliveries(w, list.Before)
}

// roomForNotices is the width from which on the ids of notices leave room for what is read first.
const roomForNotices = 150

// next says in few words when a delivery is tried.
func next(d *wire.DeliveryForm, now time.Time) string {
	switch {
	case d.State != "pending":
		return "-"
	case d.Node != "":
		return "now"
	case d.Behind:
		return "behind"
	case d.HeldBy != "":
		return "silenced"
	case d.NextAttempt == nil:
		return "-"
	case !d.NextAttempt.After(now):
		return "due"
	}
	return "in " + until(*d.NextAttempt, now)
}

func until(t, now time.Time) string {
	return lasting(int64(t.Sub(now).Round(time.Second) / time.Second))
}

// writeDelivery writes one delivery.
func writeDelivery(w io.Writer, d *wire.DeliveryForm, now time.Time) {
	fmt.Fprintf(w, "Delivery %d to %s: %s\n", d.ID, d.Sink, d.State)
	from := "rule " + d.Rule
	if d.Rule == "" {
		from = "a business system"
	}
	lines := [][2]string{
		{"notice", d.Notice + " (" + d.Status + ")"},
		{"title", terminal.OneLine(d.Title)},
		{"of", from + ", type " + d.Type + ", warehouse " + d.Warehouse},
		{"to", strings.Join(d.Recipients, ", ")},
		{"strategy", strategyText(d.Strategy)},
		{"attempts", strconv.Itoa(d.Attempts)},
		{"last error", terminal.OneLine(d.LastError)},
		{"next", nextLong(d, now)},
		{"deadline", at(d.Deadline, now)},
		{"created", stamp(d.CreatedAt)},
		{"expires", at(d.ExpiresAt, now)},
		{"sent", at(d.SentAt, now)},
	}
	for _, l := range lines {
		if l[1] != "" {
			fmt.Fprintf(w, "  %-10s  %s\n", l[0], l[1])
		}
	}
}

// at writes a time, and how far away it is where it is to come.
func at(t *time.Time, now time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.After(now):
		return stamp(*t) + " (in " + until(*t, now) + ")"
	}
	return stamp(*t)
}

func nextLong(d *wire.DeliveryForm, now time.Time) string {
	switch {
	case d.State != "pending":
		return ""
	case d.Node != "":
		return "node " + d.Node + " has it in hand"
	case d.Behind:
		return "after the delivery of the same finding before it"
	case d.HeldBy != "":
		return "silence " + d.HeldBy + " holds it back; it is looked at again at " + at(d.NextAttempt, now)
	case d.NextAttempt == nil:
		return "as soon as the sink takes it"
	case !d.NextAttempt.After(now):
		return "due since " + stamp(*d.NextAttempt) + "; sinks show " + d.Sink + " says whether it is held back"
	}
	return at(d.NextAttempt, now)
}

// strategyText writes a strategy as a rule would have it.
func strategyText(s *wire.StrategyForm) string {
	if s == nil {
		return "tried until it succeeds"
	}
	text := s.Kind
	if s.Delay != "" {
		text += ", delay " + s.Delay
	}
	if s.At != nil {
		text += ", at " + stamp(*s.At)
	}
	if s.Within != "" {
		text += ", within " + s.Within
	}
	if s.Retry > 0 {
		text += ", retry " + strconv.Itoa(s.Retry)
	}
	if s.Unless != "" {
		text += ", unless " + s.Unless
	}
	return text
}
