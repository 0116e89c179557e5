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

// far is how far a call has come.
type far int32

const (
	unconnected far = iota
	connected
	written
	heard // something of an answer has come
)

// watch has net/http tell how far a call has come.
func watch(ctx context.Context) (*atomic.Int32, context.Context) {
	come := &atomic.Int32{}
	return come, httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { come.CompareAndSwap(int32(unconnected), int32(connected)) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				come.Store(int32(written))
			}
		},
	})
}

// broken says why there is no answer, in words that show no secret; of the cause only the end of a context is kept.
func (w *Webhook) broken(ctx context.Context, come far, cause error) error {
	where := "no connection to " + w.url.Host
	switch come {
	case written, heard:
		where = w.url.Host + " did not answer"
	case connected:
		where = w.url.Host + " did not take the request"
	case unconnected:
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
