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

// encodeProblem writes the problem in the form.
func encodeProblem(p *wire.Problem, m Media) []byte {
	appended := AppendJSON
	if m != MediaJSON {
		appended = appendXML
	}
	var b bytes.Buffer
	if err := appended(&b, p); err != nil { // a struct of strings and numbers always encodes
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// WriteProblem answers a request of the plain handlers with the problem.
func WriteProblem(w http.ResponseWriter, p *wire.Problem, m Media) {
	p.RequestID = w.Header().Get(requestIDHeader)
	body := encodeProblem(p, m)
	h := w.Header()
	maps.Copy(h, p.GetHeaders())
	h.Set("Content-Type", p.ContentType(string(m)))
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client may have gone
}

// InvalidBody is the problem of a body that is well-formed but not right.
func InvalidBody(faults []wire.Fault) *wire.Problem {
	p := wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, faults[0].Location+": "+faults[0].Message)
	p.Errors = faults
	return p
}

// BadParameter is the problem of a parameter that cannot be read.
func BadParameter(detail string) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeInvalidParameter, detail)
}

// UnknownParameter is the problem of a parameter that the operation does not have.
func UnknownParameter(name string) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeUnknownParameter, "there is no parameter "+policy.Quote(name)+" here")
}

// RepeatedParameter is the problem of a parameter that comes twice and is no list.
func RepeatedParameter(name string) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeRepeatedParameter, "parameter "+name+" is given more than once")
}

// MissingParameter is the problem of a parameter that has to be there.
func MissingParameter(name string) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeMissingParameter, "parameter "+name+" is missing")
}

// BadWarehouse is the problem of a text that is not the name of a warehouse; name is the parameter or member that has it.
func BadWarehouse(status int, name, value string) *wire.Problem {
	return wire.NewProblem(status, wire.CodeBadWarehouse, name+" "+policy.Quote(value)+
		" is not the name of a warehouse: letters, digits, _ . -, at most 64, a letter or digit first")
}

// BadSubscriber is the problem of a text that is no subscriber; name is the parameter or member that has it.
func BadSubscriber(status int, name, value string) *wire.Problem {
	return wire.NewProblem(status, wire.CodeBadSubscriber, name+" "+policy.Quote(value)+" is neither user:<id> nor role:<id>")
}

// NotAcceptable is the problem of a client that takes none of the forms that answers have.
func NotAcceptable() *wire.Problem {
	return wire.NewProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable, "answers come as application/json, application/xml or text/xml")
}

// InternalProblem is the answer to a fault of the program, of which the log tells.
func InternalProblem() *wire.Problem {
	return wire.NewProblem(http.StatusInternalServerError, wire.CodeInternal, "something went wrong here; the server's log says what")
}

// LedgerFailed is the answer when the ledger did not do what was asked, for no reason that the client could mend.
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

// NotRecorded is the answer where the record of a change could not be written, and nothing was changed. Other errors are not for it.
func NotRecorded(ctx context.Context, log *slog.Logger, err error) *wire.Problem {
	if !errors.Is(err, ledger.ErrNotRecorded) {
		return nil
	}
	log.LogAttrs(ctx, slog.LevelError, "Change was not made, because its audit record could not be written.", slog.String("by", auth.From(ctx).Subject), slog.Any("error", err))
	p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeAuditUnavailable, "nothing was changed, because the audit record could not be written; try again")
	p.RetryAfter = 2
	return p
}

// Gone reports whether the client left before it was answered.
func Gone(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }
