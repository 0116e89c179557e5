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

// bodyRule is the check for the bodies of an operation.
type bodyRule struct {
	schema   *body.Schema
	maxBytes int64         // A body of exactly this size is accepted.
	within   time.Duration // Time for the whole body to arrive.
}

// mustCheckBodies compiles the rules for bodies from the document, by the id of the operation. mustCheckBodies panics
// if the check cannot cover a rule that the document has for a body. Then the program does not start.
//
// The bounds move from the operations into the rules. The library would refuse a body of exactly the bound, and would
// leave its deadline on the connection. The library only reads bodies that checkedBody has already read.
func mustCheckBodies(doc *huma.OpenAPI) map[string]bodyRule {
	bodies := map[string]bodyRule{}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil || op.RequestBody == nil || op.RequestBody.Content[string(MediaJSON)] == nil { // A plain handler reads its form itself.
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
			op.MaxBodyBytes, op.BodyReadTimeout = -1, -1 // The library applies no bound and no deadline.
		}
	}
	return bodies
}

// checkedBody reads the body, refuses a body that does not match the document, and passes on exactly the bytes that it
// has checked. No code reads the body before.
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

// humaContext renames the library's Context for embedding, because the interface has a method Context.
type humaContext huma.Context

// bodyContext is a context of the library whose body is the checked body, as JSON.
type bodyContext struct {
	humaContext

	text []byte
}

// Unwrap returns the wrapped context. The adapter of the library needs it.
func (c *bodyContext) Unwrap() huma.Context { return c.humaContext }

// Header returns a header of the request. Content-Type is always JSON, because a body in XML was converted.
func (c *bodyContext) Header(name string) string {
	if strings.EqualFold(name, "Content-Type") {
		return string(MediaJSON)
	}
	return c.humaContext.Header(name)
}

// BodyReader returns a reader of the checked body.
func (c *bodyContext) BodyReader() io.Reader { return bytes.NewReader(c.text) }

// firstBuffer is the most memory that a body gets at first, in bytes. A client can announce any Content-Length.
const firstBuffer = 1 << 20

// ReadBody reads a body of at most maxBytes bytes. The whole body must arrive within the duration within.
//
// When the body has arrived, ReadBody removes the read deadline from the connection. The server keeps reading from the
// connection, to notice when the client disconnects. The server would take an expired deadline for a disconnect, and
// end the request.
func ReadBody(w http.ResponseWriter, r *http.Request, maxBytes int64, within time.Duration) ([]byte, *wire.Problem) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(within)) // A test recorder has no deadlines.
	tooLarge := func() *wire.Problem {
		return wire.NewProblem(http.StatusRequestEntityTooLarge, wire.CodeBodyTooLarge,
			"the request body has more than "+strconv.FormatInt(maxBytes, 10)+" bytes")
	}
	if r.ContentLength > maxBytes {
		return nil, tooLarge()
	}
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(min(r.ContentLength+bytes.MinRead, firstBuffer)))
	}
	n, err := b.ReadFrom(io.LimitReader(r.Body, maxBytes+1)) // One more byte shows that the body is too large.
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

// checkBody returns the body as JSON, or the problem of the body.
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

// bodyForm returns the media type of a body. Without a Content-Type the body is JSON. bodyForm ignores charset, because
// JSON is always UTF-8 (RFC 8259), and XML declares its encoding itself.
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

// decodeJSON decodes a checked body. The names of members must match exactly, as in the check: encoding/json would also
// accept names in another case, which the check has not seen.
func decodeJSON(data []byte, v any) error { return strictjson.Unmarshal(data, v) }
