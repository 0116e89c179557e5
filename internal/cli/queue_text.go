package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// writeQueues writes a line for each queue.
func writeQueues(w io.Writer, width int, queues []wire.QueueForm) {
	if len(queues) == 0 {
		fmt.Fprintln(w, "There is no queue: the configuration has no sink of type queue.")
		return
	}
	header := []string{"QUEUE", "READY", "OLDEST", "LEASED", "DEAD", "PAUSED", "SUSPENDED", "STORED", "DELAYED", "ASSIGNED"} // what matters most first
	rows := make([][]string, len(queues))
	for i := range queues {
		q := &queues[i]
		levels, oldest := ready(q.Levels)
		paused := "no"
		if q.Paused {
			paused = "yes"
		}
		n := func(n int64) string { return strconv.FormatInt(n, 10) }
		rows[i] = []string{q.Name, levels, oldest, n(q.Leased), n(q.Dead), paused, n(q.Suspended), n(q.Stored), n(q.Delayed), n(q.Assigned)}
	}
	terminal.Spread(w, width, header, rows, header)
}

// ready writes how many are ready, as priority:number where there are some, and how long the oldest has been.
func ready(levels []wire.LevelForm) (counts, oldest string) {
	var list []string
	var longest *wire.LevelForm
	for i := range levels {
		l := &levels[i]
		if l.Ready > 0 {
			list = append(list, fmt.Sprintf("%d:%d", l.Priority, l.Ready))
		}
		if l.Oldest != nil && (longest == nil || l.OldestSeconds > longest.OldestSeconds) {
			longest = l
		}
	}
	if longest == nil {
		return orDash(strings.Join(list, " ")), "-"
	}
	return orDash(strings.Join(list, " ")), age(longest)
}

// writeQueue writes one queue with its levels and what the configuration says of it.
func writeQueue(w io.Writer, width int, q *wire.QueueForm) {
	fmt.Fprintln(w, named(q.Name, q.Test))
	if q.Paused {
		text := "nothing is given out"
		if q.PausedAt != nil {
			text = "since " + stamp(*q.PausedAt)
		}
		if q.PausedBy != "" {
			text += ", by " + q.PausedBy
		}
		fmt.Fprintln(w, "  paused     "+text)
	}
	for _, n := range []struct {
		name  string
		count int64
		note  string
	}{
		{"ready", q.Ready, ""},
		{"assigned", q.Assigned, "ready for one worker alone"},
		{"leased", q.Leased, ""},
		{"delayed", q.Delayed, ""},
		{"suspended", q.Suspended, ""},
		{"stored", q.Stored, ""},
		{"dead", q.Dead, "failed " + count(q.Settings.MaxAttempts, "time")},
	} {
		line := fmt.Sprintf("  %-9s  %d", n.name, n.count)
		if n.count > 0 && n.note != "" {
			line += "  (" + n.note + ")"
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "\nReady by priority")
	rows := make([][]string, len(q.Levels))
	for i, l := range q.Levels {
		rows[i] = []string{strconv.Itoa(l.Priority), strconv.FormatInt(l.Ready, 10), age(&l)}
	}
	terminal.Grid(w, width, "  ", []string{"PRIORITY", "READY", "OLDEST"}, rows)
	writeWarehouses(w, width, q.Warehouses)
	writeSettings(w, &q.Settings)
}

// writeWarehouses writes how much of a queue belongs to each warehouse, where it has items of some.
func writeWarehouses(w io.Writer, width int, list []wire.DepthForm) {
	if len(list) == 0 || len(list) == 1 && list[0].Warehouse == "" {
		return
	}
	fmt.Fprintln(w, "\nBy warehouse")
	header := []string{"WAREHOUSE", "READY", "LEASED", "DEAD", "SUSPENDED", "STORED", "DELAYED", "ASSIGNED"}
	rows := make([][]string, len(list))
	for i, d := range list {
		n := func(n int64) string { return strconv.FormatInt(n, 10) }
		rows[i] = []string{orDash(d.Warehouse), n(d.Ready), n(d.Leased), n(d.Dead), n(d.Suspended), n(d.Stored), n(d.Delayed), n(d.Assigned)}
	}
	terminal.Grid(w, width, "  ", header, rows)
}

func writeSettings(w io.Writer, s *wire.SettingsForm) {
	fmt.Fprintln(w, "\nConfiguration")
	steps := "none"
	if len(s.SuspendSteps) > 0 {
		steps = strings.Join(s.SuspendSteps, ", ")
	}
	for _, f := range [][2]string{
		{"timezone", s.Timezone}, {"lease", s.Lease}, {"max_attempts", strconv.Itoa(s.MaxAttempts)}, {"dedupe", s.Dedupe}, {"suspend_steps", steps},
	} {
		fmt.Fprintf(w, "  %-13s  %s\n", f[0], f[1])
	}
}

// age writes how long the first of a level has been ready; "-" where there is none.
func age(l *wire.LevelForm) string {
	if l.Oldest == nil {
		return "-"
	}
	return lasting(int64(l.OldestSeconds))
}

// lasting writes seconds as people do: two units at most.
func lasting(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	days := d / (24 * time.Hour)
	if days == 0 {
		if d >= time.Hour {
			d = d.Truncate(time.Minute)
		}
		return strictyaml.FormatDuration(d)
	}
	text := strconv.FormatInt(int64(days), 10) + "d"
	if hours := (d % (24 * time.Hour)).Truncate(time.Hour); hours > 0 {
		text += strictyaml.FormatDuration(hours)
	}
	return text
}
