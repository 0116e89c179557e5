package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tallyman/internal/demo/warehouse"
)

// narrator tells what happens, one line an event, for a person to follow. It is safe for concurrent use.
type narrator struct {
	mu     sync.Mutex
	out    io.Writer
	colour bool
	seen   map[string]bool // ids of notices, each of which several clients may poll
	twice  int             // notices that one client was given twice; there should be none
	got    int
}

func newNarrator(out io.Writer, colour bool) *narrator {
	return &narrator{out: out, colour: colour, seen: map[string]bool{}}
}

// Escape sequences of the terminal.
const (
	dim    = "\x1b[2m"
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	blue   = "\x1b[34m"
	plain  = "\x1b[0m"
)

func (n *narrator) paint(style, text string) string {
	if !n.colour {
		return text
	}
	return style + text + plain
}

// happened tells an event of the warehouse.
func (n *narrator) happened(e warehouse.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = fmt.Fprintf(n.out, "%s\n", n.paint(dim, fmt.Sprintf("%s  %s    %s", e.At.Format("15:04"), e.Warehouse, e.Text)))
}

// noticed tells a notice that a WMS client polled.
func (n *narrator) noticed(p polled) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got++
	if n.seen[p.ID] {
		n.twice++
		return
	}
	n.seen[p.ID] = true
	sign, style := "!", yellow
	switch {
	case p.Status == "resolved":
		sign, style = "✓", green
	case p.Priority >= 4:
		sign, style = "!!", red
	}
	_, _ = fmt.Fprintf(n.out, "%s  %s %s %s %s\n", p.CreatedAt.Format("15:04"), p.Warehouse,
		n.paint(style, fmt.Sprintf("%2s", sign)), n.paint(bold, fmt.Sprintf("%-13s", p.Type)), p.Title)
}

// worked tells what a forklift does with an item of the queue.
func (n *narrator) worked(at time.Time, warehouse, who, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = fmt.Fprintf(n.out, "%s  %s %s %s %s\n", at.Format("15:04"), warehouse, n.paint(blue, " →"), n.paint(bold, fmt.Sprintf("%-13s", who)), text)
}

// say prints text as it is, each line on its own.
func (n *narrator) say(lines ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = fmt.Fprintln(n.out, strings.Join(lines, "\n"))
}
