package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
)

// Audit keeps who changed what; see ledger.Audit.
type Audit interface {
	AddChange(ctx context.Context, c *ledger.Change) error
	Changes(ctx context.Context, f ledger.ChangeFilter) ([]ledger.Change, error)
}

// CLIAgent is what the User-Agent of this program's command line begins with.
const CLIAgent = "tallyman-cli/"

const (
	auditTimeout = 10 * time.Second
	largestState = 64 << 10 // bytes of JSON that a record keeps of before and after
)

// audited records each change before its answer goes out. An answer that says that something was changed is worth its record: where that
// cannot be written the caller hears so instead.
func (a *API) audited(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	via := viaOf(ctx.Header("User-Agent"))
	switch {
	case op.OperationID == "step":
		next(huma.WithValue(ctx, viaKey{}, via))
		return
	case op.Method == http.MethodGet || unaudited[op.OperationID] != "":
		next(ctx)
		return
	}
	c := &changing{humaContext: ctx, how: auditedAs(op)}
	if c.how.before != nil {
		var err error
		if c.before, err = c.how.before(ctx.Context(), a, c.part); err != nil {
			a.answerProblem(ctx, a.ledgerFailed(ctx.Context(), err))
			return
		}
	}
	next(c)
	if c.isDone() && (c.how.skip == nil || !c.how.skip(c)) {
		if prob := a.record(ctx.Context(), via, op.OperationID, c.change(ctx.Context(), a)); prob != nil {
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

// record writes the change, also when the caller has left meanwhile.
func (a *API) record(ctx context.Context, via ledger.Via, operation string, c *ledger.Change) *Problem {
	c.By, c.Via = auth.From(ctx).Subject, via
	bounded, done := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer done()
	err := a.deps.Audit.AddChange(bounded, c)
	if err == nil {
		return nil
	}
	a.log.LogAttrs(ctx, slog.LevelError, "a change was made and could not be recorded", slog.String("operation", operation),
		slog.String("object", c.Object), slog.String("by", c.By), slog.Any("error", err))
	return newProblem(http.StatusServiceUnavailable, CodeAuditUnavailable, "it was done, but the record of who did it could not be written; look before you repeat it")
}

func viaOf(agent string) ledger.Via {
	if strings.HasPrefix(agent, CLIAgent) {
		return ledger.ViaCLI
	}
	return ledger.ViaAPI
}

// humaContext lets the library's context be embedded beside its own method of that name.
type humaContext huma.Context

// changing holds the answer back until the change is recorded, and remembers what was asked.
type changing struct {
	humaContext

	how     auditedOperation
	before  any
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

// isDone tells whether there is something to record. What was refused before anything was tried is not.
func (c *changing) isDone() bool {
	return c.status < http.StatusMultipleChoices ||
		c.how.tried && (c.status == http.StatusConflict || c.status >= http.StatusInternalServerError)
}

// change is the record but for who and how. A state afterwards that cannot be read any more is left out: the change itself was made.
func (c *changing) change(ctx context.Context, a *API) *ledger.Change {
	after := map[auditedState]any{
		stateOfRequest: rawOrNil(c.request.Bytes()), stateOfAnswer: c.answer,
		stateOfBoth: map[string]any{"asked": rawOrNil(c.request.Bytes()), "done": c.answer},
	}[c.how.after]
	if c.how.afterwards != nil {
		after, _ = c.how.afterwards(ctx, a, c.part)
	}
	return &ledger.Change{
		Action: c.how.action, Object: c.name(c.how.object), Reason: c.part(c.how.reason),
		Before: stateJSON(c.before, nil), After: stateWithin(max(c.how.largest, largestState), after, c.how.without),
	}
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

// part is a piece of the request or of the answer: id of the path, query.scope, body.code, answer.id.
func (c *changing) part(where string) string {
	kind, field, ok := strings.Cut(where, ".")
	switch {
	case where == "":
		return ""
	case !ok:
		return c.Param(where)
	case kind == "query":
		return c.Query(field)
	case kind == "body":
		return member(c.request.Bytes(), field)
	}
	return member(stateJSON(c.answer, nil), field)
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
