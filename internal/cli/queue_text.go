package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/api"
	"tallyman/rules/strictyaml"
	"tallyman/sinks/queue/item"
)

// writeQueues writes a line for each queue.
func writeQueues(w io.Writer, width int, queues []api.QueueForm) {
	if len(queues) == 0 {
		fmt.Fprintln(w, "There is no queue: the configuration has no sink of type queue.")
		return
	}
	header := []string{"QUEUE"}
	for p := item.HighestPriority; p >= item.LowestPriority; p-- {
		header = append(header, "P"+strconv.Itoa(p))
	}
	header = append(header, "OLDEST", "LEASED", "DELAYED", "SUSPENDED", "STORED", "DEAD", "ASSIGNED", "PAUSED")
	rows := make([][]string, len(queues))
	for i := range queues {
		q := &queues[i]
		row, oldest := []string{q.Name}, 0.0
		for _, l := range q.Levels {
			row, oldest = append(row, strconv.FormatInt(l.Ready, 10)), max(oldest, l.OldestSeconds)
		}
		paused := "no"
		if q.Paused {
			paused = "yes"
		}
		row = append(row, age(oldest))
		for _, n := range []int64{q.Leased, q.Delayed, q.Suspended, q.Stored, q.Dead, q.Assigned} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		rows[i] = append(row, paused)
	}
	spread(w, width, "", header, rows)
}

// writeQueue writes one queue with its levels and what the configuration says of it.
func writeQueue(w io.Writer, width int, q *api.QueueForm) {
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
		rows[i] = []string{strconv.Itoa(l.Priority), strconv.FormatInt(l.Ready, 10), age(l.OldestSeconds)}
	}
	grid(w, width, "  ", []string{"PRIORITY", "READY", "OLDEST"}, rows)
	writeSettings(w, &q.Settings)
}

func writeSettings(w io.Writer, s *api.SettingsForm) {
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

// age writes how long ago something was; "-" where there is nothing.
func age(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return lasting(int64(seconds))
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

// spread is grid, and says what there was no room for.
func spread(w io.Writer, width int, indent string, header []string, rows [][]string) {
	if n := grid(w, width, indent, header, rows); n > 0 {
		fmt.Fprintf(w, "%s%s left out for want of room; -o json has everything.\n", indent, count(n, "column"))
	}
}
