package queue

import (
	"errors"
	"fmt"
	"strings"

	"tallyman/internal/item"
	"tallyman/sinks/recovery"
)

var (
	// errBacklog says that so much waits for its way into the ledger that nothing more is taken; step.lua says it.
	errBacklog = errors.New("queue: too much waits for its way into the ledger")
	// errToken says that another repair has begun; enqueue.lua says it.
	errToken = errors.New("queue: another repair has begun")

	errAnswer = errors.New("queue: a script's answer is not as its header says")
)

// known gives the errors of our own scripts their types.
func known(err error) error {
	if err == nil {
		return nil
	}
	for begin, own := range map[string]error{"BACKLOG ": errBacklog, "TOKEN ": errToken} {
		if rest, ok := strings.CutPrefix(err.Error(), begin); ok {
			return fmt.Errorf("%w (%s)", own, rest)
		}
	}
	return recovery.Known(err)
}

// epochIsOver tells whether Redis is at another epoch than was believed.
func epochIsOver(err error) bool {
	_, ok := errors.AsType[*recovery.EpochError](err)
	return ok
}

// lost ends the generation if the error says that it is over; then Serve may try again in the next.
func (q *Queue) lost(g *recovery.Generation, err error) error {
	if !epochIsOver(err) {
		return err
	}
	q.keeper.Lose(g, err)
	return fmt.Errorf("%w: %w", recovery.ErrLost, err)
}

func invalid(field string, index int, format string, args ...any) error {
	return &item.InvalidError{Field: field, Index: index, Message: fmt.Sprintf(format, args...)}
}
