package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// item is an item that this worker has leased.
type item struct {
	ID      string          `json:"id"`
	Attempt int             `json:"attempt"`
	Payload json.RawMessage `json:"payload"`
}

// op is an operation on an item. The attempt proves that the worker still has the item.
type op struct {
	Op      string `json:"op"`
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
	Days    int    `json:"days,omitempty"`  // For store.
	Lease   string `json:"lease,omitempty"` // For extend.
	Note    string `json:"note,omitempty"`  // A text for the item's trace.
}

// step is one request. The server first does its operations, and then gives up to Max new items.
type step struct {
	Worker    string `json:"worker"`
	RequestID string `json:"requestId,omitempty"`
	Ops       []op   `json:"ops,omitempty"`
	Max       int    `json:"max"`
	Lease     string `json:"lease,omitempty"`
	Wait      string `json:"wait,omitempty"`
}

// stepped is the answer to a step.
type stepped struct {
	Results []result `json:"results"`
	Items   []item   `json:"items"`
}

// result is the result of one operation: "ok", or the reason why nothing was changed.
type result struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"`
}

// client sends requests to one queue.
type client struct {
	http   *http.Client
	server string
	queue  string
	name   string
}

// newRequestID makes an id for a request. A request with the same id can be repeated safely: the answer is the same,
// and the server does nothing twice.
func newRequestID() string { return rand.Text() }

// seconds writes a duration in the form of the API.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }

const (
	firstPause = 200 * time.Millisecond
	mostPause  = 5 * time.Second
	tryTimeout = wait + 15*time.Second // for one try; the server may hold the request for the time wait
)

// step sends the request until the server answers. It stops with an error where another try does not help: after an
// answer that is neither 200, 429 nor 5xx, after an answer that is no JSON, and at the end of the context.
func (c *client) step(ctx context.Context, s step) (stepped, error) {
	s.Worker = c.name
	body, err := json.Marshal(s)
	if err != nil {
		return stepped{}, err
	}
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		answer, again, err := c.try(ctx, body)
		if err == nil || !again {
			return answer, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return stepped{}, fmt.Errorf("%w; the last try: %w", ctx.Err(), err)
		}
	}
}

// try sends the request once. again tells whether the caller should repeat it.
func (c *client) try(ctx context.Context, body []byte) (answer stepped, again bool, err error) {
	trying, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	at := c.server + "/api/v1/queues/" + url.PathEscape(c.queue) + "/step"
	req, err := http.NewRequestWithContext(trying, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return answer, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return answer, ctx.Err() == nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return answer, ctx.Err() == nil, err
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return answer, true, fmt.Errorf("%s: %s", resp.Status, text)
	case resp.StatusCode != http.StatusOK:
		return answer, false, fmt.Errorf("%s: %s", resp.Status, text)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, false, fmt.Errorf("the answer is not understood: %w", err)
	}
	return answer, false, nil
}
