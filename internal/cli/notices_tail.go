package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"tallyman/internal/cli/terminal"
	"tallyman/internal/text"
)

const (
	tailWait  = "25s" // wait of a poll; must be less than requestTimeout
	firstRest = 500 * time.Millisecond
	longRest  = 5 * time.Second
	mostSeen  = 20_000 // remembered ids of notices, so that no notice is printed twice after a reset
)

func (c noticeCommands) tail() *cobra.Command {
	var flags pollFlags
	var last int
	cmd := c.withServer(&cobra.Command{
		Use:   "tail",
		Short: "Print the latest notices of subscribers, and then new notices as they come",
		Long: `Print the latest notices of subscribers in a warehouse, and then new notices in the order of delivery, until you stop the command.

The command goes on over restarts of the server and of Redis: no notice is left out or printed twice. With -o json each notice is a line.`,
		Example: "  tallyman notices tail --warehouse 119240 --subscriber role:keeper\n  tallyman notices tail --warehouse 119240 --subscriber role:keeper --since 1h -o json | jq .title",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, err := flags.query(time.Now())
			if err != nil {
				return err
			}
			if last < 0 {
				return usage("--last must not be negative")
			}
			t := &tail{command: c.command, client: c.client(), query: query, seen: newIDMemory(mostSeen)}
			if flags.since != "" {
				last = -1
			}
			return t.run(cmd.Context(), last)
		},
	})
	flags.add(cmd)
	cmd.Flags().IntVar(&last, "last", 10, "how many existing notices to print first; --since prints all since that time")
	return cmd
}

// tail prints notices as they arrive.
type tail struct {
	*command

	client *client
	query  url.Values
	seen   *idMemory
}

// run prints the last notices of the inboxes, and then each new notice. A last of -1 means all notices.
func (t *tail) run(ctx context.Context, last int) error {
	var latest []json.RawMessage
	cursor, err := t.client.window(ctx, t.query, func(n json.RawMessage) {
		t.seen.isNew(lineOf(n).ID)
		if latest = append(latest, n); last >= 0 && len(latest) > last {
			latest = latest[1:]
		}
	})
	if err == nil {
		err = t.write(latest)
	}
	if err != nil {
		return unlessStopped(ctx, err)
	}
	t.query.Set("wait", tailWait)
	return unlessStopped(ctx, t.follow(ctx, cursor))
}

// follow polls until the context ends or the server refuses the poll. After a temporary error follow tries again.
func (t *tail) follow(ctx context.Context, cursor string) error {
	rest := firstRest
	away := false
	for {
		var page noticePage
		t.query.Set("after", cursor)
		err := t.client.do(ctx, http.MethodGet, withQuery("/notices", t.query), nil, &page)
		var exit *exitError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &exit) && exit.code == ExitUnreachable:
			if !away {
				fmt.Fprintf(t.Err, "tallyman: %v; trying again\n", err)
			}
			away = true
			if !pause(ctx, rest) {
				return ctx.Err()
			}
			rest = min(2*rest, longRest)
			continue
		case err != nil:
			return err
		}
		if away {
			fmt.Fprintf(t.Err, "tallyman: %s answers again\n", t.client.base)
		}
		away, rest, cursor = false, firstRest, page.Cursor
		if page.Reset {
			fmt.Fprintln(t.Err, "tallyman: "+page.resetLine())
		}
		if err := t.write(t.fresh(page.Notices)); err != nil {
			return err
		}
	}
}

// resetLine returns a line about a reset: the reason, and how many notices are missed.
func (p *noticePage) resetLine() string {
	missed := "it is not known how many notices were missed"
	if p.Missed != nil {
		missed = fmt.Sprintf("notices missed: %d", *p.Missed)
	}
	return "the server starts the last 3 days again (" + p.Reason + "); " + missed
}

// fresh leaves out notices that were printed already. After a reset the server sends the last 3 days again.
func (t *tail) fresh(list []json.RawMessage) []json.RawMessage {
	var fresh []json.RawMessage
	for _, n := range list {
		if t.seen.isNew(lineOf(n).ID) {
			fresh = append(fresh, n)
		}
	}
	return fresh
}

func (t *tail) write(list []json.RawMessage) error {
	for _, raw := range list {
		if err := t.writeOne(raw); err != nil {
			return err
		}
	}
	return nil
}

func (t *tail) writeOne(raw json.RawMessage) error {
	switch t.output {
	case "json":
		_, err := fmt.Fprintf(t.Out, "%s\n", text.EscapeJSON(raw))
		return err
	case "yaml":
		if _, err := io.WriteString(t.Out, "---\n"); err != nil {
			return err
		}
		return writeYAML(t.Out, raw)
	}
	n := lineOf(raw)
	line := terminal.OneLine(fmt.Sprintf("%s  %-8s  %d  %s  %s (%s)", stamp(n.CreatedAt), n.Status, n.Priority, n.ID, n.Title, n.Type))
	_, err := fmt.Fprintln(t.Out, terminal.Fit(line, t.width()))
	return err
}

// pause waits, and returns whether the whole time has passed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// unlessStopped returns nil instead of the error if the user has stopped the command. A command that follows never ends
// by itself, so its stop is no error.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// idMemory remembers the ids that were added last.
type idMemory struct {
	ids  map[string]bool
	ring []string
	next int
}

func newIDMemory(most int) *idMemory {
	return &idMemory{ids: map[string]bool{}, ring: make([]string, most)}
}

// isNew returns whether the id is new, and remembers the id.
func (s *idMemory) isNew(id string) bool {
	if s.ids[id] {
		return false
	}
	delete(s.ids, s.ring[s.next])
	s.ids[id], s.ring[s.next] = true, id
	s.next = (s.next + 1) % len(s.ring)
	return true
}
