package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strconv"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// encodeProblem encodes the problem in the media type.
func encodeProblem(p *wire.Problem, m Media) []byte {
	appended := AppendJSON
	if m != MediaJSON {
		appended = appendXML
	}
	var b bytes.Buffer
	if err := appended(&b, p); err != nil { // A struct of strings and numbers always encodes.
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// WriteProblem answers with the problem. Plain handlers and middleware use WriteProblem; the OpenAPI library writes its
// own problems.
func WriteProblem(w http.ResponseWriter, p *wire.Problem, m Media) {
	p.RequestID = w.Header().Get(requestIDHeader)
	body := encodeProblem(p, m)
	h := w.Header()
	maps.Copy(h, p.GetHeaders())
	h.Set("Content-Type", p.ContentType(string(m)))
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // The client may have disconnected.
}

// InvalidBody is the problem of a body that is well-formed but has invalid values. There must be at least one fault.
func InvalidBody(faults []wire.Fault) *wire.Problem {
	p := wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, faults[0].Location+": "+faults[0].Message)
	p.Errors = faults
	return p
}

// BadParameter is the problem of a parameter with an invalid value.
func BadParameter(detail string) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeInvalidParameter, detail)
}

// UnknownParameter is the problem of a parameter that the operation does not have.
func UnknownParameter(name string) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeUnknownParameter, "this operation has no parameter "+policy.Quote(name))
}

// RepeatedParameter is the problem of a parameter that comes twice and is not a list.
func RepeatedParameter(name string) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeRepeatedParameter, "parameter "+name+" is given more than once")
}

// MissingParameter is the problem of a missing parameter.
func MissingParameter(name string) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeMissingParameter, "parameter "+name+" is missing")
}

// BadWarehouse is the problem of a text that cannot name a warehouse. name is the parameter or member with the text.
func BadWarehouse(status int, name, value string) *wire.Problem {
	return wire.NewProblem(status, wire.CodeBadWarehouse, name+" "+policy.Quote(value)+
		" is not the name of a warehouse: letters, digits, _ . -, at most 64, a letter or digit first")
}

// BadSubscriber is the problem of a text that cannot name a subscriber. name is the parameter or member with the text.
func BadSubscriber(status int, name, value string) *wire.Problem {
	return wire.NewProblem(status, wire.CodeBadSubscriber, name+" "+policy.Quote(value)+" is neither user:<id> nor role:<id>")
}

// NotAcceptable is the problem of a client that accepts none of the media types of answers.
func NotAcceptable() *wire.Problem {
	return wire.NewProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable, "answers come as application/json, application/xml or text/xml")
}

// InternalProblem is the answer to a fault of the program. The caller must log the fault.
func InternalProblem() *wire.Problem {
	return wire.NewProblem(http.StatusInternalServerError, wire.CodeInternal, "the server failed to answer; its log has the cause under this requestId")
}

// LedgerFailed is the answer to an error of the ledger that the client cannot correct. LedgerFailed logs the error.
func LedgerFailed(ctx context.Context, log *slog.Logger, err error) *wire.Problem {
	if p := NotRecorded(ctx, log, err); p != nil {
		return p
	}
	if !Gone(ctx) {
		log.LogAttrs(ctx, slog.LevelError, "Request failed, because the ledger reported an error.", slog.Any("error", err))
	}
	p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeLedgerUnavailable, "the ledger did not answer; try again")
	p.RetryAfter = 2
	return p
}

// NotRecorded is the answer if the audit record of a change could not be written, so that nothing was changed.
// NotRecorded returns nil for any other error.
func NotRecorded(ctx context.Context, log *slog.Logger, err error) *wire.Problem {
	if !errors.Is(err, ledger.ErrNotRecorded) {
		return nil
	}
	log.LogAttrs(ctx, slog.LevelError, "Change was not made, because its audit record could not be written.", slog.String("by", auth.From(ctx).Subject), slog.Any("error", err))
	p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeAuditUnavailable, "nothing was changed, because the audit record could not be written; try again")
	p.RetryAfter = 2
	return p
}

// Gone tells whether the client disconnected before the answer.
func Gone(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }
