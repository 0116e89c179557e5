package sinks

import (
	"context"
	"sync/atomic"
)

// Status is where a call of a push channel notes what the other side has answered.
type Status struct{ code atomic.Int64 }

type statusKey struct{}

// WithStatus makes the context of one call, whose status can be read once the call has ended.
func WithStatus(ctx context.Context) (context.Context, *Status) {
	s := &Status{}
	return context.WithValue(ctx, statusKey{}, s), s
}

// NoteStatus notes the code of the answer, of HTTP or SMTP, as operators see it beside the attempt. A channel calls it whether the call
// succeeds or fails, with a code that it was given and none of its own. The last one of a call counts.
func NoteStatus(ctx context.Context, code int) {
	if s, ok := ctx.Value(statusKey{}).(*Status); ok {
		s.code.Store(int64(code))
	}
}

// Code is what was noted; 0 = nothing was.
func (s *Status) Code() int { return int(s.code.Load()) }
