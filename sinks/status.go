package sinks

import (
	"context"
	"sync/atomic"
)

// Status stores the code with which the other side has answered a call of a push channel.
type Status struct{ code atomic.Int64 }

type statusKey struct{}

// WithStatus returns the context of one call. Read the status after the call has ended.
func WithStatus(ctx context.Context) (context.Context, *Status) {
	s := &Status{}
	return context.WithValue(ctx, statusKey{}, s), s
}

// NoteStatus stores the code of the answer, of HTTP or SMTP, which operators see with the attempt. A channel calls it
// for successes and failures, but only with codes of the other side. The last code of a call counts.
func NoteStatus(ctx context.Context, code int) {
	if s, ok := ctx.Value(statusKey{}).(*Status); ok {
		s.code.Store(int64(code))
	}
}

// Code returns the stored code, or 0 if there is none.
func (s *Status) Code() int { return int(s.code.Load()) }
