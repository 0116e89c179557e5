package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// pollWait is how long one poll may hang on the server when nothing is new.
const pollWait = 5 * time.Second

// polled is what the client reads of a notice.
type polled struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Warehouse string    `json:"warehouse"`
	Rule      string    `json:"rule"`
	Status    string    `json:"status"`
	Priority  int       `json:"priority"`
	Title     string    `json:"title"`
	CreatedAt time.Time `json:"createdAt"`
}

// client is a WMS client in one warehouse: it polls over HTTP with the cursor that it was given.
type client struct {
	http        *http.Client
	base        string // of the API, without a trailing slash
	warehouse   string
	subscribers []string
	got         func(polled)
	cursor      string
	etag        string
}

// run polls until ctx ends. A failed poll is repeated after a second with the same cursor, so nothing is missed.
func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.poll(ctx, pollWait); err != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// poll asks once and hands over every notice of the page.
func (c *client) poll(ctx context.Context, wait time.Duration) error {
	query := url.Values{"warehouse": {c.warehouse}, "subscriber": c.subscribers}
	if c.cursor != "" {
		query.Set("after", c.cursor)
	}
	if wait > 0 {
		query.Set("wait", wait.String())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/v1/notices?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	if c.etag != "" {
		req.Header.Set("If-None-Match", c.etag)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("poll: %w", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotModified:
		return nil
	case http.StatusOK:
	default:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("poll: %s: %s", resp.Status, text)
	}
	var page struct {
		Notices []polled `json:"notices"`
		Cursor  string   `json:"cursor"`
		More    bool     `json:"more"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		return fmt.Errorf("poll: read the page: %w", err)
	}
	for _, n := range page.Notices {
		c.got(n)
	}
	c.cursor, c.etag = page.Cursor, resp.Header.Get("ETag")
	if page.More {
		return c.poll(ctx, 0)
	}
	return nil
}
