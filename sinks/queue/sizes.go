package queue

import (
	"context"
	"fmt"
	"time"

	"tallyman/sinks/queue/item"
)

// Sizes tells how full the queue or its twin is, at one moment. Its errors are index.ErrUnavailable and the context's.
func (q *Queue) Sizes(ctx context.Context, test bool) (item.Sizes, error) {
	answer, _, err := q.read(ctx, q.line(test), q.reads.sizes)
	if err != nil {
		return item.Sizes{}, err
	}
	return parseSizes(answer)
}

// parseSizes reads the answer of sizes.lua.
func parseSizes(answer []string) (item.Sizes, error) {
	const levels = item.HighestPriority - item.LowestPriority + 1
	if len(answer) != 9+2*levels+5 {
		return item.Sizes{}, fmt.Errorf("%w: sizes.lua gave %d values", errAnswer, len(answer))
	}
	n, err := counts(answer[:6])
	if err != nil {
		return item.Sizes{}, err
	}
	at, err := counts(answer[8:9])
	if err != nil {
		return item.Sizes{}, err
	}
	s := item.Sizes{
		Assigned: n[0], Leased: n[1], Delayed: n[2], Suspended: n[3], Stored: n[4], Dead: n[5],
		Pause:  item.Pause{Paused: answer[6] == "1", By: answer[7], At: fromMicro(at[0])},
		Levels: make([]item.Level, levels),
	}
	for i := range s.Levels {
		ready, err := counts(answer[9+2*i : 10+2*i])
		if err != nil {
			return item.Sizes{}, err
		}
		level := item.Level{Priority: item.HighestPriority - i, Ready: ready[0]}
		if head := answer[10+2*i]; head != "" {
			first, err := parseValue("", head+"\n")
			if err != nil {
				return item.Sizes{}, err
			}
			level.Oldest = first.Ready
		}
		s.Levels[i] = level
		s.Ready += level.Ready
	}
	r, err := counts(answer[9+2*levels:])
	if err != nil {
		return item.Sizes{}, err
	}
	s.Recent = item.Recent{Span: time.Duration(r[0]) * time.Microsecond, Pushed: r[1], Done: r[2], Failed: r[3], Dead: r[4]}
	return s, nil
}
