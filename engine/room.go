package engine

import (
	"context"
	"errors"
	"time"
)

// lookWait is how long an answer waits for the source to have room for one more question.
const lookWait = 10 * time.Second

// ErrSourceBusy says that as many questions as may be are being asked of the source.
var ErrSourceBusy = errors.New("source_busy: the source has no room for one more question")

// Room waits for a place among the runs of the source, so that whoever asks it beside them takes no connection that a run has been
// given leave to use. The place is held until release is called.
func (e *Engine) Room(ctx context.Context, source string) (release func(), err error) {
	wait, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	places, ok := e.slots[source]
	if !ok {
		return nil, &UnknownError{What: "source", Name: source}
	}
	if !places.acquire(wait.Done()) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, ErrSourceBusy
	}
	return places.release, nil
}
