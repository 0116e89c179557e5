package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tallyman/internal/api/body"
	"tallyman/internal/strictjson"
	"tallyman/internal/wire"
)

// bodyRule is what the body of an operation must keep to.
type bodyRule struct {
	schema   *body.Schema
	maxBytes int64         // A body of exactly so many bytes is read.
	within   time.Duration // How long the body may take to arrive.
}

// mustCheckBodies makes of the document what bodies are held against, by the ids of operations. A body that could not be checked for all that the
// document says of it is a fault of the program: it does not start. The bounds move from the operations into the rules, because the library refuses
// a body of exactly its bound, and leaves its deadline on the connection. The library only ever reads bodies that checkedBody has read.
func mustCheckBodies(doc *huma.OpenAPI) map[string]bodyRule {
	bodies := map[string]bodyRule{}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil || op.RequestBody == nil || op.RequestBody.Content[string(MediaJSON)] == nil { // a plain handler reads a form by itself
				continue
			}
			schema, err := body.Compile(doc.Components.Schemas, op.RequestBody.Content[string(MediaJSON)].Schema)
			if err == nil && (op.MaxBodyBytes <= 0 || op.BodyReadTimeout <= 0) {
				err = errors.New("its body has no bound, or no deadline")
			}
			if err != nil {
				panic(fmt.Sprintf("operation %s: %v", op.OperationID, err))
			}
			bodies[op.OperationID] = bodyRule{schema, op.MaxBodyBytes, op.BodyReadTimeout}
			op.MaxBodyBytes, op.BodyReadTimeout = -1, -1 // no bound, no deadline
		}
	}
	return bodies
}

// checkedBody reads the body, refuses what is not as the document says, and hands on the bytes that it has looked at. Nothing else has seen the
// body before.
func (a *API) checkedBody(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	rule, hasBody := a.bodies[op.OperationID]
	if !hasBody {
		next(ctx)
		return
	}
	r, w := humago.Unwrap(ctx)
	text, prob := ReadBody(w, r, rule.maxBytes, rule.within)
	if prob == nil {
		text, prob = checkBody(rule.schema, text, ctx.Header("Content-Type"), op.RequestBody.Required)
	}
	if prob != nil {
		WriteProblem(w, prob, ProblemMedia(r))
		return
	}
	next(&bodyContext{humaContext: ctx, text: text})
}

// humaContext lets the library's context be embedded beside its own method of that name.
type humaContext huma.Context

// bodyContext gives the body again, as JSON.
type bodyContext struct {
	humaContext

	text []byte
}

// Unwrap gives the adapter its own context.
func (c *bodyContext) Unwrap() huma.Context { return c.humaContext }

// Header is that of the request, but for the form of the body.
func (c *bodyContext) Header(name string) string {
	if strings.EqualFold(name, "Content-Type") {
		return string(MediaJSON)
	}
	return c.humaContext.Header(name)
}

// BodyReader reads the body that was checked.
func (c *bodyContext) BodyReader() io.Reader { return bytes.NewReader(c.text) }

// firstBuffer is what is taken for a body at first, whatever its Content-Length promises.
const firstBuffer = 1 << 20

// ReadBody reads a body of maxBytes at most, which has to arrive in time. A body that was read leaves no deadline: the server goes on reading to learn
// whether the client leaves, and takes a deadline that passes for the client's leaving, which ends the request.
func ReadBody(w http.ResponseWriter, r *http.Request, maxBytes int64, within time.Duration) ([]byte, *wire.Problem) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(within)) // what is no connection has no deadline
	tooLarge := func() *wire.Problem {
		return wire.NewProblem(http.StatusRequestEntityTooLarge, wire.CodeBodyTooLarge,
			"request body is too large limit="+strconv.FormatInt(maxBytes, 10)+" bytes")
	}
	if r.ContentLength > maxBytes {
		return nil, tooLarge()
	}
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(min(r.ContentLength+bytes.MinRead, firstBuffer)))
	}
	n, err := b.ReadFrom(io.LimitReader(r.Body, maxBytes+1)) // one byte more is refused as too large
	late, isNet := errors.AsType[net.Error](err)
	switch {
	case n > maxBytes:
		return nil, tooLarge()
	case isNet && late.Timeout():
		return nil, wire.NewProblem(http.StatusRequestTimeout, wire.CodeBodyTimeout, "request body read timeout")
	case err != nil:
		return nil, wire.NewProblem(http.StatusBadRequest, wire.CodeMalformedBody, "the request body ended too early")
	}
	_ = connection.SetReadDeadline(time.Time{})
	return b.Bytes(), nil
}

// checkBody returns the body as JSON, or says what is wrong with it.
func checkBody(schema *body.Schema, text []byte, contentType string, required bool) ([]byte, *wire.Problem) {
	form, isKnown := bodyForm(contentType)
	switch {
	case len(text) == 0 && required:
		return nil, wire.NewProblem(http.StatusBadRequest, wire.CodeMalformedBody, "request body is required")
	case len(text) == 0:
		return nil, nil
	case !isKnown:
		return nil, wire.NewProblem(http.StatusUnsupportedMediaType, wire.CodeUnsupportedMediaType,
			"bodies are JSON or XML: send them as application/json or as application/xml")
	}
	var found []body.Fault
	if form == MediaXML {
		var fault *body.Fault
		if text, fault = schema.FromXML(text); fault != nil {
			found = []body.Fault{*fault}
		}
	}
	if found == nil {
		text, found = schema.Read(text)
	}
	if len(found) == 0 {
		return text, nil
	}
	return nil, bodyProblem(found)
}

func bodyProblem(found []body.Fault) *wire.Problem {
	prob := wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, found[0].At+": "+found[0].Message)
	if found[0].Text {
		prob.Code = wire.CodeBadText
	}
	if found[0].Syntax {
		prob.Status, prob.Code = http.StatusBadRequest, wire.CodeMalformedBody
		prob.Title = http.StatusText(prob.Status)
	}
	for _, f := range found {
		prob.Errors = append(prob.Errors, wire.Fault{Location: f.At, Message: f.Message})
	}
	if len(found) == body.MostFaults {
		prob.Errors = append(prob.Errors, wire.Fault{Message: "and maybe more"})
	}
	return prob
}

// bodyForm is the form of a body, which is JSON where no Content-Type says anything. JSON is UTF-8 (RFC 8259), whatever else a charset says; XML says it itself.
func bodyForm(contentType string) (form Media, isKnown bool) {
	name, _, _ := strings.Cut(contentType, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	switch {
	case name == "" || name == string(MediaJSON) || strings.HasSuffix(name, "+json"):
		return MediaJSON, true
	case name == string(MediaXML) || name == string(MediaTextXML) || strings.HasSuffix(name, "+xml"):
		return MediaXML, true
	}
	return "", false
}

// decodeJSON decodes a body that was checked. Names match exactly here, too: what was checked is what is acted on.
func decodeJSON(data []byte, v any) error { return strictjson.Unmarshal(data, v) }
