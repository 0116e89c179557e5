package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// pollWait is how long one poll may hang on the server when nothing is new.
const pollWait = 5 * time.Second

// polledNotice has the fields of a notice that the client reads.
type polledNotice struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Warehouse string    `json:"warehouse"`
	Rule      string    `json:"rule"`
	Status    string    `json:"status"`
	Priority  int       `json:"priority"`
	Title     string    `json:"title"`
	CreatedAt time.Time `json:"createdAt"`
}

// client is a WMS client in one warehouse. It polls over HTTP with the cursor of the last answer.
type client struct {
	http        *http.Client
	base        string // The URL of the API, without a trailing slash.
	warehouse   string
	subscribers []string
	got         func(polledNotice)
	cursor      string
	etag        string
}

// run polls until ctx ends. After a failed poll it polls again in a second with the same cursor, so it misses no
// notice.
func (c *client) run(ctx context.Context) {
	repeat(ctx, func(ctx context.Context) error { return c.poll(ctx, pollWait) })
}

// repeat calls work until ctx ends. After an error it waits for a second.
func repeat(ctx context.Context, work func(context.Context) error) {
	for ctx.Err() == nil {
		if err := work(ctx); err != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// poll polls once and hands over every notice of the page.
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
		Notices []polledNotice `json:"notices"`
		Cursor  string         `json:"cursor"`
		More    bool           `json:"more"`
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

// The queue of the demo, and how its forklifts work on an item. All times but leaseWait are in the warehouse's time.
const (
	queueName    = "replenishment"
	leaseWait    = 5 * time.Second // On the wall clock.
	shortest     = 3 * time.Minute // The shortest time of a refill.
	longest      = 9 * time.Minute
	firstSuspend = 20 * time.Minute
	thenSuspend  = time.Hour
	noReserve    = 6 // For one item in this many there is no reserve stock, and the forklift puts off the item.
)

// forklift is a worker: it leases one item after the other from the queue over HTTP, and refills the item's bin.
type forklift struct {
	http  *http.Client
	base  string // The URL of the API.
	name  string
	dice  *rand.Rand
	clock *Clock
	fill  func(ctx context.Context, warehouse, bin, by string) (bool, error)
	tell  func(at time.Time, warehouse, who, text string)
}

// leasedItem has the fields of an item that a forklift reads. The payload of the item is a notice.
type leasedItem struct {
	ID       string `json:"id"`
	Attempt  int    `json:"attempt"`
	Priority int    `json:"priority"`
	Payload  struct {
		Warehouse string `json:"warehouse"`
		Data      struct {
			Bin string `json:"bin"`
			SKU string `json:"sku"`
		} `json:"data"`
	} `json:"payload"`
}

// run works until ctx ends. After an error it goes on in a second. The lease of an unfinished item ends by itself.
func (f *forklift) run(ctx context.Context) { repeat(ctx, f.work) }

// work leases an item and does its work.
func (f *forklift) work(ctx context.Context) error {
	var got struct{ Items []leasedItem }
	if err := f.post(ctx, "/lease", map[string]any{"worker": f.name, "wait": leaseWait.String()}, &got); err != nil {
		return err
	}
	for _, it := range got.Items {
		if err := f.serve(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

func (f *forklift) serve(ctx context.Context, it leasedItem) error {
	if f.dice.IntN(noReserve) == 0 {
		return f.putOff(ctx, it)
	}
	of := it.Payload
	f.tell(f.clock.Now(), of.Warehouse, f.name, fmt.Sprintf("drives to bin %s (priority %d)", of.Data.Bin, it.Priority))
	drive := shortest + time.Duration(f.dice.Int64N(int64(longest-shortest)))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(f.clock.Real(drive)):
	}
	filled, err := f.fill(ctx, of.Warehouse, of.Data.Bin, f.name)
	if err != nil {
		return err
	}
	note := ""
	if !filled {
		note = "the bin was full already"
	}
	_, err = f.do(ctx, it, "ack", note)
	return err
}

// putOff suspends an item. An item that may not be suspended any more is stored for a day.
func (f *forklift) putOff(ctx context.Context, it leasedItem) error {
	note := "no " + it.Payload.Data.SKU + " in reserve"
	what := "puts off"
	limit, err := f.do(ctx, it, "suspend", note)
	if limit {
		what = "stores"
		_, err = f.do(ctx, it, "store", note)
	}
	if err != nil {
		return err
	}
	f.tell(f.clock.Now(), it.Payload.Warehouse, f.name, fmt.Sprintf("%s bin %s: %s", what, it.Payload.Data.Bin, note))
	return nil
}

// do reports the result of an item to the queue. It returns limit where the item may not be suspended again. It is no
// error when another worker has the item meanwhile.
func (f *forklift) do(ctx context.Context, it leasedItem, what, note string) (limit bool, err error) {
	op := map[string]any{"op": what, "id": it.ID, "attempt": it.Attempt, "note": note}
	if what == "store" {
		op["days"] = 1
	}
	var done struct{ Results []struct{ Outcome string } }
	err = f.post(ctx, "/step", map[string]any{"worker": f.name, "ops": []any{op}}, &done)
	if err == nil && len(done.Results) != 1 {
		err = fmt.Errorf("work: %d results for one operation", len(done.Results))
	}
	return err == nil && done.Results[0].Outcome == "suspend_limit", err
}

// post calls the queue.
func (f *forklift) post(ctx context.Context, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+"/api/v1/queues/"+queueName+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.http.Do(req)
	if err != nil {
		return fmt.Errorf("work: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("work: %s: %s", resp.Status, said)
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}
