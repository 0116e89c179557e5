package queue

import (
	"log/slog"

	"tallyman/sinks/recovery"
)

// Queue is a queue and its test twin.
type Queue struct {
	o   Options
	log *slog.Logger

	keeper *recovery.Keeper // one for both: their epochs begin together
	lines  [2]*line         // the queue, its twin
	reads  *readScripts
	life   *lifeScripts

	drainers [2]*drainer // of the lines; nil without a ledger
	sweepers [2]*sweeper
}

// New returns a queue that waits for Run.
func New(o Options) (*Queue, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	q := &Queue{o: o, log: o.Logger.With("queue", o.Name), reads: newReadScripts(), life: newLifeScripts()}
	for i, test := range []bool{false, true} {
		if q.lines[i], err = newLine(&q.o, test); err != nil {
			return nil, err
		}
	}
	if err := q.live(); err != nil {
		return nil, err
	}
	return q, nil
}

// line is the queue itself or its twin.
func (q *Queue) line(test bool) *line {
	if test {
		return q.lines[1]
	}
	return q.lines[0]
}
