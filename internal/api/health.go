package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// readyTimeout bounds the checks of /readyz.
const readyTimeout = 5 * time.Second

// healthz answers that the process is alive, even if the process can reach nothing else.
func (a *API) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	writeBody(w, MediaJSON, []byte(`{"status":"alive"}`+"\n"))
}

// readiness is the answer of a node that can do its work.
type readiness struct {
	Status string   `json:"status"`
	Unwell []string `json:"unwell,omitempty"`
}

func (a *API) unwell() []string {
	if a.deps.Unwell == nil {
		return nil
	}
	return a.deps.Unwell()
}

// readyz answers 200 if the node can do its work, and otherwise 503 with a list of the parts that are not ready.
//
// A fault that stops only a part of the work is listed in a 200. With a 503 a load balancer would remove every node,
// and one broken part would stop the whole site. The answer has no error texts, because anybody who reaches the address
// may call this operation, and error texts can have addresses and user names. GET /status has the error texts.
func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	err := a.deps.Ready(ctx)
	if err == nil {
		body, err := json.Marshal(readiness{"ready", a.unwell()})
		if err != nil { // A struct of strings always encodes.
			panic(err)
		}
		w.Header().Set("Cache-Control", "no-store")
		writeBody(w, MediaJSON, append(body, '\n'))
		return
	}
	p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeNotReady, "this node cannot do all of its work")
	for _, reason := range reasons(err) {
		part, _, _ := strings.Cut(reason.Error(), ": ")
		p.Errors = append(p.Errors, wire.Fault{Message: part + ": not ready; " + Base + "/status says why"})
	}
	WriteProblem(w, p, ProblemMedia(r))
}

// reasons returns the errors that were joined by errors.Join.
func reasons(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// metrics serves the metrics for Prometheus.
func (a *API) metrics() http.HandlerFunc {
	all := promhttp.HandlerFor(a.deps.Gatherer, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(a.log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	})
	return func(w http.ResponseWriter, r *http.Request) {
		if !auth.From(r.Context()).Everywhere() {
			WriteProblem(w, Denied(wire.CodeWarehouseDenied, "the metrics cover all warehouses, and your token does not"), ProblemMedia(r))
			return
		}
		all.ServeHTTP(w, r)
	}
}

// condition is the schema of an answer whose status is always the same word.
func condition(word string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"status": {Type: huma.TypeString, Enum: []any{word}}}, Required: []string{"status"}}
}

// readySchema is the schema of readiness.
func readySchema() *huma.Schema {
	schema := condition("ready")
	schema.Properties["unwell"] = &huma.Schema{
		Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}, Examples: []any{[]any{"source wms", "rules: 2 late"}},
		Description: "what is not well: sources, queues and push channels that cannot be reached; “commits” while the ledger refuses some commits; “restore” for one day after a restore of the ledger, " +
			"and for each queue that withholds items since then; the number of rules that are late, failing or degraded. /status says why. Absent where all is well",
	}
	return schema
}

// plainOperations describes the operations of this package. These operations have no parameters.
func plainOperations() []*huma.Operation {
	simple := func(id, path, summary, form string, schema *huma.Schema, description string) *huma.Operation {
		return &huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: path, Tags: []string{"operations"}, Summary: summary,
			Responses: map[string]*huma.Response{"200": {
				Description: description, Content: map[string]*huma.MediaType{form: {Schema: schema}},
			}},
		}
	}
	return []*huma.Operation{
		simple("healthz", "/healthz", "Is the process alive?", string(MediaJSON), condition("alive"), "the process is alive"),
		simple("readyz", "/readyz", "Can the node do its work?", string(MediaJSON), readySchema(), "the node can do its work; unwell lists what is not well. If the node cannot work, a problem with code not_ready lists what is missing"),
		simple("metrics", "/metrics", "Metrics for Prometheus", "text/plain", TextSchema(""), "the metrics"),
		simple("openapi", "/openapi.json", "This document", string(MediaJSON), &huma.Schema{Type: huma.TypeObject}, "OpenAPI 3.1"),
	}
}
