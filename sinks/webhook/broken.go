package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync/atomic"

	"tallyman/sinks/guard"
)

// shownFault is how much of a library's words an error shows, in bytes.
const shownFault = 300

// progress is how far a call has come.
type progress struct{ connected, written atomic.Bool }

func watch(ctx context.Context) (*progress, context.Context) {
	p := &progress{}
	return p, httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { p.connected.Store(true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) { p.written.Store(info.Err == nil) },
	})
}

// broken says why there is no answer, in words that show no secret; of the cause only the end of a context is kept.
func (w *Webhook) broken(ctx context.Context, p *progress, cause error) error {
	where := "no connection to " + w.url.Host
	switch {
	case p.written.Load():
		where = w.url.Host + " did not answer"
	case p.connected.Load():
		where = w.url.Host + " did not take the request"
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	text := where + ": " + w.scrub.Text(fault(cause), shownFault)
	if errors.Is(cause, guard.ErrRefused) {
		text += "; allow_private: true of the sink lets it"
	}
	return errors.New(text)
}

// fault is what a connection failed of, without the addresses that are said already.
func fault(cause error) string {
	op, ok := errors.AsType[*net.OpError](cause)
	if !ok || op.Err == nil || op.Op != "dial" && op.Op != "read" && op.Op != "write" {
		return cause.Error()
	}
	if op.Op == "dial" && op.Addr != nil && !errors.Is(cause, guard.ErrRefused) {
		return fmt.Sprintf("%v (%s)", op.Err, op.Addr)
	}
	return op.Err.Error()
}
