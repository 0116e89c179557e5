package sinks_test

import (
	"context"
	"testing"

	"tallyman/sinks"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	ctx, status := sinks.WithStatus(t.Context())
	if status.Code() != 0 {
		t.Error("a status before anybody has noted one")
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	sinks.NoteStatus(inner, 503)
	sinks.NoteStatus(inner, 200)
	if status.Code() != 200 {
		t.Errorf("%d", status.Code())
	}
	sinks.NoteStatus(t.Context(), 500) // nobody asks
}
