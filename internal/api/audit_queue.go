package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
)

// queueRecord says how a change of a queue is recorded.
type queueRecord struct {
	action string
	object string // a pattern, as "queue:{queue}"; see changing.part for what may stand in braces
	after  queueState
	reason string // where the request says why
}

// queueState says what a record has as the state after the change.
type queueState uint8

const (
	stateOfNothing queueState = iota
	stateOfRequest
	stateOfBoth // what was asked and what was done
)

// queueRecords says how each operation that changes a queue is recorded, by its id. Queues are not the ledger's; what the ledger changes it records itself.
var queueRecords = map[string]queueRecord{
	"pause-queue":   {action: "queue.pause", object: "queue:{queue}", after: stateOfRequest}, // says whether it is the test twin
	"resume-queue":  {action: "queue.resume", object: "queue:{queue}", after: stateOfRequest},
	"remove-range":  {action: "queue.remove", object: "queue:{queue}", after: stateOfBoth},
	"requeue-items": {action: "queue.requeue", object: "queue:{queue}", after: stateOfBoth},
	"remove-item":   {action: "item.remove", object: "item:{queue}:{id}", reason: "query.note"},
	"finish-item":   {action: "item.finish", object: "item:{queue}:{id}", after: stateOfBoth, reason: "body.note"},
	"assign-item":   {action: "item.assign", object: "item:{queue}:{id}", after: stateOfBoth, reason: "body.note"},
	"requeue-item":  {action: "item.requeue", object: "item:{queue}:{id}", after: stateOfBoth, reason: "body.note"},
}

// audited records each change of a queue before its answer goes out. An answer that says that something was changed is worth its record: where that
// cannot be written the caller hears so instead.
func (a *API) audited(ctx huma.Context, next func(huma.Context)) {
	how, ok := queueRecords[ctx.Operation().OperationID]
	if !ok {
		next(ctx)
		return
	}
	c := &changing{humaContext: ctx, how: how}
	next(c)
	if c.status < http.StatusMultipleChoices {
		if prob := a.record(ctx.Context(), ctx.Operation().OperationID, c.change()); prob != nil {
			a.answerProblem(ctx, prob)
			return
		}
	}
	ctx.SetStatus(c.status)
	if c.body.Len() > 0 {
		_, _ = ctx.BodyWriter().Write(c.body.Bytes()) // a client that has left has no use for it
	}
}

func (a *API) answerProblem(ctx huma.Context, p *Problem) {
	r, w := humago.Unwrap(ctx)
	p.write(w, problemMedia(r))
}

// record writes what was done to a queue.
func (a *API) record(ctx context.Context, operation string, c *ledger.Change) *Problem {
	who := auth.From(ctx).Author()
	c.By, c.Via = who.By, who.Via
	err := a.addChange(ctx, c)
	if err == nil {
		return nil
	}
	a.log.LogAttrs(ctx, slog.LevelError, "a change was made and could not be recorded", slog.String("operation", operation),
		slog.String("object", c.Object), slog.String("by", c.By), slog.Any("error", err))
	return newProblem(http.StatusServiceUnavailable, CodeAuditUnavailable, "it was done, but the record of who did it could not be written; look before you repeat it")
}

// humaContext lets the library's context be embedded beside its own method of that name.
type humaContext huma.Context

// changing holds the answer back until the change is recorded, and remembers what was asked.
type changing struct {
	humaContext

	how     queueRecord
	request bytes.Buffer // the body
	answer  any          // before it was encoded
	status  int
	body    bytes.Buffer
}

// Unwrap gives the adapter its own context.
func (c *changing) Unwrap() huma.Context { return c.humaContext }

// BodyReader remembers what is read.
func (c *changing) BodyReader() io.Reader {
	return io.TeeReader(c.humaContext.BodyReader(), &c.request)
}

// SetStatus holds the status back.
func (c *changing) SetStatus(status int) { c.status = status }

// Status is the one that is held back.
func (c *changing) Status() int { return c.status }

// BodyWriter holds the body back.
func (c *changing) BodyWriter() io.Writer { return &c.body }

// answered remembers what a change is answered with, for its record.
func answered(ctx huma.Context, _ string, v any) (any, error) {
	if c, ok := ctx.(*changing); ok {
		c.answer = v
	}
	return v, nil
}

// change is the record but for who and how.
func (c *changing) change() *ledger.Change {
	after := map[queueState]any{
		stateOfRequest: rawOrNil(c.request.Bytes()),
		stateOfBoth:    map[string]any{"asked": rawOrNil(c.request.Bytes()), "done": c.answer},
	}[c.how.after]
	return &ledger.Change{Action: c.how.action, Object: c.name(c.how.object), Reason: c.part(c.how.reason), After: stateJSON(after)}
}

// name fills in the {parts} of a pattern. What is empty is left out with its colon.
func (c *changing) name(pattern string) string {
	parts := strings.Split(pattern, ":")
	kept := parts[:0]
	for _, p := range parts {
		if inner, ok := strings.CutPrefix(p, "{"); ok {
			p = c.part(strings.TrimSuffix(inner, "}"))
		}
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ":")
}

// part is a piece of the request: id of the path, query.note, body.note.
func (c *changing) part(where string) string {
	kind, field, ok := strings.Cut(where, ".")
	switch {
	case where == "":
		return ""
	case !ok:
		return c.Param(where)
	case kind == "query":
		return c.Query(field)
	}
	return member(c.request.Bytes(), field)
}

// member is a text of a JSON object, "" where it has none of that name.
func member(object []byte, name string) string {
	var members map[string]any
	if json.Unmarshal(object, &members) != nil {
		return ""
	}
	text, _ := members[name].(string)
	return text
}

func rawOrNil(b []byte) any {
	if len(bytes.TrimSpace(b)) == 0 || !json.Valid(b) {
		return nil
	}
	return json.RawMessage(b)
}
