package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
)

// endless is a queue that costs nothing, so that a benchmark measures only the API.
type endless struct {
	*fakeTwins

	items []item.Lease
}

func (q *endless) Step(_ context.Context, s item.Step) (item.Stepped, error) {
	done := item.Stepped{Results: make([]item.Result, len(s.Ops)), Items: q.items[:s.Max]}
	for i := range s.Ops {
		done.Results[i] = item.Result{Kind: s.Ops[i].Kind, ID: s.Ops[i].ID, Outcome: item.OK, State: item.Done}
	}
	return done, nil
}

func (q *endless) Push(_ context.Context, _ bool, _ string, items []item.New) ([]item.PushResult, error) {
	results := make([]item.PushResult, len(items))
	for i := range items {
		results[i] = item.PushResult{ID: "i_123456789012345678901234", Outcome: item.Pushed}
	}
	return results, nil
}

// BenchmarkQueueRequests is what the API adds to a push, and to a step that acks and leases, with payloads of 300 bytes.
func BenchmarkQueueRequests(b *testing.B) {
	payload := json.RawMessage(`{"bin":"A-01","note":"` + strings.Repeat("x", 275) + `"}`)
	q := &endless{fakeTwins: newFakeTwins(), items: make([]item.Lease, 100)}
	for i := range q.items {
		q.items[i] = item.Lease{ID: fmt.Sprintf("i_%024d", i), Attempt: 1, Priority: 3, Payload: payload, Until: time.Now(), Created: time.Now()}
	}
	a := newBundle(func(d *parts) { withQueue(d, q) })
	for _, n := range []int{1, 10, 100} {
		ops := make([]string, n)
		pushes := make([]string, n)
		for i := range n {
			ops[i] = fmt.Sprintf(`{"op":"ack","id":"i_%024d","attempt":1}`, i)
			pushes[i] = `{"payload":` + string(payload) + `,"priority":3}`
		}
		for name, body := range map[string][2]string{
			"step": {"/step", fmt.Sprintf(`{"worker":"w","max":%d,"ops":[%s]}`, n, strings.Join(ops, ","))},
			"push": {"/items", fmt.Sprintf(`{"items":[%s]}`, strings.Join(pushes, ","))},
		} {
			b.Run(fmt.Sprintf("%s/items=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if got := a.handleBody(b, http.MethodPost, queuePath+body[0], body[1]); got.status != http.StatusOK {
						b.Fatal(got.body)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/item")
			})
		}
	}
}
