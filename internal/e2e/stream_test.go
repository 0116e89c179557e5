package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
)

// streams follows each of the warehouses as a stream until stop is called, at whichever node there is: when one ends, another goes
// on behind the last event.
func (c *cluster) streams(warehouses ...string) (list []*client, stop func()) {
	return c.follow(warehouses, func(ctx context.Context, cl *client, random *rand.Rand) bool {
		cl.stream(ctx, cl.c.base(random.IntN(100)))
		return false // it has ended
	})
}

// stream takes what comes until the stream ends.
func (cl *client) stream(ctx context.Context, base string) {
	q := url.Values{"warehouse": {cl.warehouse}, "subscriber": {"role:keeper", "user:7"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/notices/stream?"+q.Encode(), http.NoBody)
	code := 0
	if err == nil {
		req.Header.Set("Accept", "text/event-stream")
		if cl.cursor != "" {
			req.Header.Set("Last-Event-ID", cl.cursor)
		}
		var resp *http.Response
		if resp, err = cl.http.Do(req); err == nil {
			defer resp.Body.Close()
			if code = resp.StatusCode; code == http.StatusOK {
				cl.events(resp.Body)
				err = io.EOF // streams end with their node
			}
		}
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.answered(ctx, code, err)
}

// events takes one event after the other. One that breaks off counts for nothing.
func (cl *client) events(body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	event := map[string]string{}
	for lines.Scan() {
		if lines.Text() == "" {
			cl.event(event)
			clear(event)
			continue
		}
		name, value, _ := strings.Cut(lines.Text(), ":")
		event[name] = strings.TrimPrefix(value, " ")
	}
}

// event takes one as a page of its own.
func (cl *client) event(fields map[string]string) {
	p := page{Cursor: fields["id"], Reset: fields["event"] == "reset"}
	if p.Cursor == "" {
		p.Cursor = cl.cursor
	}
	if fields["event"] == "notice" {
		var n heard
		if err := json.Unmarshal([]byte(fields["data"]), &n); err != nil {
			cl.fault(fmt.Sprintf("the event %q: %v", fields["data"], err))
		}
		p.Notices = []heard{n}
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.take(p)
}

func (cl *client) fault(text string) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.faults = append(cl.faults, text)
}
