package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// The queue of the demo, and what its forklifts do with an item, in the warehouse's time.
const (
	queueName    = "replenishment"
	leaseWait    = 5 * time.Second // of our time
	shortest     = 3 * time.Minute // of a refill
	longest      = 9 * time.Minute
	firstSuspend = 20 * time.Minute
	thenSuspend  = time.Hour
	noReserve    = 6 // one item in so many finds no reserve, and is put off
)

// forklift is a worker: it takes one item of the queue after the other over HTTP and refills its bin.
type forklift struct {
	http  *http.Client
	base  string // of the API
	name  string
	dice  *rand.Rand
	clock *Clock
	fill  func(ctx context.Context, warehouse, bin, by string) (bool, error)
	tell  func(at time.Time, warehouse, who, text string)
}

// leased is what a forklift reads of an item; its payload is a notice.
type leased struct {
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

// run works until ctx ends. What fails is tried again after a second; an item that was begun comes back by itself.
func (f *forklift) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := f.work(ctx); err != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// work takes an item and does what it asks for.
func (f *forklift) work(ctx context.Context) error {
	var got struct{ Items []leased }
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

func (f *forklift) serve(ctx context.Context, it leased) error {
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

// putOff suspends an item. One that was suspended as often as it may be is stored for a day.
func (f *forklift) putOff(ctx context.Context, it leased) error {
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

// do tells the queue what became of an item. Limit is its answer that the item may not be suspended again. An item that
// another has meanwhile is no fault.
func (f *forklift) do(ctx context.Context, it leased, what, note string) (limit bool, err error) {
	op := map[string]any{"op": what, "id": it.ID, "attempt": it.Attempt, "note": note}
	if what == "store" {
		op["days"] = 1
	}
	var done struct{ Results []struct{ Outcome string } }
	err = f.post(ctx, "/step", map[string]any{"worker": f.name, "ops": []any{op}}, &done)
	return err == nil && done.Results[0].Outcome == "suspend_limit", err
}

// post asks the queue.
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
