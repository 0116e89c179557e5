package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api/stream"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

type (
	overviewInput struct {
		Warehouses []string `query:"warehouse,explode" doc:"these alone; repeat it for more than one. Without it, all that the token has" nullable:"false"`
	}
	overviewOutput struct{ Body *wire.OverviewForm }
)

func (a *API) registerOverview(operations huma.API) {
	get := Operation("overview", http.MethodGet, "/overview", "operations", "How everything is, at a glance")
	get.Description = "Rules by health, notices by the hour, findings by warehouse, queues, sinks, nodes, and what the node reaches. It is looked up every two seconds at most, " +
		"whoever asks, and answers also where parts of it are out of reach. Rules, notices, findings and the items of queues are those of the token's warehouses; sinks have none."
	huma.Register(operations, get, a.overview)
}

// overview answers GET /overview.
func (a *API) overview(ctx context.Context, in *overviewInput) (*overviewOutput, error) {
	warehouses, prob := overviewWarehouses(auth.From(ctx), in.Warehouses)
	if prob != nil {
		return nil, prob
	}
	return &overviewOutput{a.lookout.look(ctx).form(warehouses, auth.From(ctx).Everywhere())}, nil
}

// overviewWarehouses are those that were asked for, or all of the caller's; none = every one there is.
func overviewWarehouses(who *auth.Identity, asked []string) ([]string, *wire.Problem) {
	var list []string
	for _, warehouse := range asked {
		switch {
		case warehouse == "":
			continue
		case !IsName(warehouse):
			return nil, BadWarehouse(http.StatusBadRequest, "warehouse", warehouse)
		}
		if prob := InWarehouse(who, warehouse); prob != nil {
			return nil, prob
		}
		list = append(list, warehouse)
	}
	if list == nil && !who.Everywhere() {
		list = slices.Clone(who.Warehouses)
		if len(list) == 0 {
			return nil, Denied(wire.CodeWarehouseDenied, "this is about warehouses"+Yours(nil))
		}
	}
	return SortedUnique(list), nil
}

// overviewQuery reads the warehouses that a stream asks for.
func overviewQuery(r *http.Request) ([]string, *wire.Problem) {
	if !acceptsEvents(r) {
		return nil, wire.NewProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable, "streams come as "+string(MediaEvents)+", and in no other form")
	}
	var asked []string
	prob := params(r.URL.RawQuery, func(name, value string) *wire.Problem {
		if name != "warehouse" {
			return unknownParameter(name)
		}
		asked = append(asked, value)
		return nil
	})
	if prob != nil {
		return nil, prob
	}
	return overviewWarehouses(auth.From(r.Context()), asked)
}

// overviewStream serves GET /overview/stream: the overview, and again whenever it has changed.
func (a *API) overviewStream(w http.ResponseWriter, r *http.Request) {
	warehouses, prob := overviewQuery(r)
	if prob != nil {
		writeProblem(w, prob, problemMedia(r))
		return
	}
	if r.Method == http.MethodHead { // the mux brings it here, too
		stream.SetHeader(w.Header())
		return
	}
	s := &overviewStream{all: a.overviews, warehouses: warehouses, everywhere: auth.From(r.Context()).Everywhere()}
	if prob := a.streams.Enter(auth.From(r.Context()), &s.Stream, func() stream.Source { return s }); prob != nil { //nolint:contextcheck // feeds poll for many streams
		writeProblem(w, prob, problemMedia(r))
		return
	}
	defer s.Abandon()
	s.Serve(w, r, func(ctx context.Context) { a.overviews.join(ctx, s) })
}

// overviewStreamOperation describes GET /overview/stream.
func overviewStreamOperation() *huma.Operation {
	return &huma.Operation{
		OperationID: "stream-overview", Method: http.MethodGet, Path: Base + "/overview/stream", Tags: []string{"operations"},
		Summary: "Stream the overview",
		Description: "Server-sent events: overview has what GET /overview answers, at once and then whenever it has changed, every two seconds at most; what time alone changes " +
			"(at, seen, ages) comes along, and by itself every 15 s at most. end says why the server ends the stream. A comment comes every 15 s. A client that does not read is cut off.",
		Parameters: []*huma.Param{queryParam("warehouse", "these alone; repeat it for more than one. Without it, all that the token has",
			&huma.Schema{Type: huma.TypeArray, Items: nameSchema()})},
		Responses: map[string]*huma.Response{"200": {
			Description: "events, until the client leaves",
			Content:     map[string]*huma.MediaType{string(MediaEvents): {Schema: &huma.Schema{Type: huma.TypeString}, Example: overviewExample}},
		}},
	}
}

const overviewExample = `retry: 2718

event: overview
data: {"at":"2026-06-01T00:10:00Z","node":"one","rules":{"ok":7,…},…}

`
