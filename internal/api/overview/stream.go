package overview

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/stream"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// stream serves GET /overview/stream: the overview at once, and again after each change.
func (h *Handlers) stream(w http.ResponseWriter, r *http.Request) {
	warehouses, prob := streamQuery(r)
	if prob != nil {
		api.WriteProblem(w, prob, api.ProblemMedia(r))
		return
	}
	if r.Method == http.MethodHead { // The mux calls the handler of GET for HEAD, too.
		stream.SetHeader(w.Header())
		return
	}
	s := &watcher{all: h.watchers, warehouses: warehouses, everywhere: auth.From(r.Context()).Everywhere()}
	if prob := h.deps.Streams.Enter(auth.From(r.Context()), &s.Stream, func() stream.Source { return s }); prob != nil {
		api.WriteProblem(w, prob, api.ProblemMedia(r))
		return
	}
	defer s.Abandon()
	s.Serve(w, r, func(ctx context.Context) { h.watchers.join(ctx, s) })
}

// streamOperation describes GET /overview/stream.
func streamOperation() *huma.Operation {
	return &huma.Operation{
		OperationID: "stream-overview", Method: http.MethodGet, Path: api.Base + "/overview/stream", Tags: []string{"operations"},
		Summary: "Stream the overview",
		Description: "Server-sent events. The event overview has the answer of GET /overview. It comes at once, and then after each change, at most every two seconds. " +
			"Values that change with time alone (at, seen, ages) cause an event at most every 15 s. The event end says why the server ends the stream. " +
			"A comment comes every 15 s. The server disconnects a client that does not read.",
		Parameters: []*huma.Param{api.QueryParam("warehouse", "only these warehouses; repeat it for more than one. By default all warehouses of the token",
			&huma.Schema{Type: huma.TypeArray, Items: api.NameSchema()})},
		Responses: map[string]*huma.Response{"200": {
			Description: "events, until the client disconnects",
			Content:     map[string]*huma.MediaType{string(api.MediaEvents): {Schema: &huma.Schema{Type: huma.TypeString}, Example: streamExample}},
		}},
	}
}

const streamExample = `retry: 2718

event: overview
data: {"at":"2026-06-01T00:10:00Z","node":"one","rules":{"ok":7,…},…}

`

// streamQuery reads the warehouses that a stream asks for.
func streamQuery(r *http.Request) ([]string, *wire.Problem) {
	if !api.AcceptsEvents(r) {
		return nil, wire.NewProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable, "a stream only comes as "+string(api.MediaEvents))
	}
	var asked []string
	prob := api.Params(r.URL.RawQuery, func(name, value string) *wire.Problem {
		if name != "warehouse" {
			return api.UnknownParameter(name)
		}
		asked = append(asked, value)
		return nil
	})
	if prob != nil {
		return nil, prob
	}
	return warehousesOf(auth.From(r.Context()), asked)
}

// watcher is a stream of overviews.
type watcher struct {
	stream.Stream

	all        *watchers
	warehouses []string // None = all warehouses.
	everywhere bool     // The caller may see all warehouses, even if this stream is for some of them.
	sent       string   // The lasting part of the overview that the client has; guarded by watchers.mu.
}

func (s *watcher) Drop() { s.all.drop(s) }

func (s *watcher) Release() {} // Nothing to do: only a live watcher is in watchers, and Drop removes the watcher there.

// watchers are the open streams of overviews. While there are streams, one goroutine looks for all of them.
type watchers struct {
	lookout *lookout

	mu   sync.Mutex
	live map[*watcher]struct{}
	stop context.CancelFunc // Ends the goroutine.
}

// join sends the overview to a stream, and makes the stream live unless it has ended in the meantime.
func (all *watchers) join(ctx context.Context, s *watcher) {
	o := all.lookout.look(ctx)
	all.mu.Lock()
	defer all.mu.Unlock()
	if !s.Settle() {
		return
	}
	all.live[s] = struct{}{}
	s.give(newEvent(o, s))
	if all.stop == nil {
		run, stop := context.WithCancel(context.WithoutCancel(ctx)) // The goroutine serves all streams, so it outlives this request.
		all.stop = stop
		go all.run(run)
	}
}

// drop removes a live stream.
func (all *watchers) drop(s *watcher) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.live, s)
	if len(all.live) == 0 {
		all.stop()
		all.stop = nil
	}
}

// run looks until there are no streams.
func (all *watchers) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			all.hand(all.lookout.look(ctx))
		case <-ctx.Done():
			return
		}
	}
}

// hand sends the overview to each stream for which the overview has changed. Streams for the same warehouses share the
// encoded event.
func (all *watchers) hand(o *outlook) {
	all.mu.Lock()
	defer all.mu.Unlock()
	events := map[string]*event{}
	for s := range all.live {
		key := strconv.FormatBool(s.everywhere) + "\n" + strings.Join(s.warehouses, "\n")
		if events[key] == nil {
			events[key] = newEvent(o, s)
		}
		s.give(events[key])
	}
}

// give sends the overview unless the client already has it. The caller holds watchers.mu.
func (s *watcher) give(e *event) {
	if s.sent != e.lasting {
		s.sent = e.lasting
		s.Push(e.bytes)
	}
}

// event is an overview, encoded for streams.
type event struct {
	bytes   []byte
	lasting string // The overview without the values that change with time alone.
}

func newEvent(o *outlook, s *watcher) *event {
	form := o.form(s.warehouses, s.everywhere)
	text, err := json.Marshal(lasting(form))
	if err != nil { // Forms always encode.
		panic(err)
	}
	var b bytes.Buffer
	stream.WriteEvent(&b, "overview", "", form)
	return &event{b.Bytes(), string(text)}
}

// seenEvery rounds the times of the nodes' signs of life, so that these times alone cause an event about every 15 s.
const seenEvery = 15 * time.Second

// lasting returns the overview without the values that change with time alone.
func lasting(f *wire.OverviewForm) *wire.OverviewForm {
	same := *f
	same.At = time.Time{}
	same.Nodes = slices.Clone(f.Nodes)
	for i := range same.Nodes {
		same.Nodes[i].Seen = same.Nodes[i].Seen.Truncate(seenEvery)
	}
	same.Sinks = slices.Clone(f.Sinks)
	for i := range same.Sinks {
		same.Sinks[i].OldestSecs = 0
	}
	same.Queues = slices.Clone(f.Queues)
	for i := range same.Queues {
		same.Queues[i].Recent.Seconds = 0
		same.Queues[i].Levels = slices.Clone(same.Queues[i].Levels)
		for j := range same.Queues[i].Levels {
			same.Queues[i].Levels[j].OldestSeconds = 0
		}
	}
	return &same
}
