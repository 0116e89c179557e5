package queue

import (
	"context"
	"fmt"
	"time"

	"tallyman/sinks/queue/item"
)

// Figures of sizes.lua.
const (
	sizesAtOnce = 200 // warehouses that are counted by one call
	sizesHead   = 5   // values before those of the levels
	sizesRow    = 1 + sizesLevels + 6 + 4
	sizesLevels = item.HighestPriority - item.LowestPriority + 1
)

// Sizes tells how full the queue or its twin is, of the scope's warehouses: at one moment, where they are no more than 200. Its errors
// are index.ErrUnavailable and the context's.
func (q *Queue) Sizes(ctx context.Context, test bool, scope item.Scope) (item.Sizes, error) {
	sum := item.Sizes{Levels: make([]item.Level, sizesLevels)}
	for i := range sum.Levels {
		sum.Levels[i].Priority = item.HighestPriority - i
	}
	parts := []item.Scope{nil}
	if scope != nil {
		parts = nil
		for rest := scope; len(rest) > 0 || parts == nil; rest = rest[min(len(rest), sizesAtOnce):] {
			parts = append(parts, rest[:min(len(rest), sizesAtOnce):min(len(rest), sizesAtOnce)])
		}
	}
	for _, part := range parts {
		if part == nil && scope != nil {
			part = item.Scope{} // which is not all
		}
		for after, more := "", true; more; more = after != "" {
			answer, _, err := q.read(ctx, q.line(test), q.reads.sizes, scopeNames(part), after, sizesAtOnce)
			if err != nil {
				return item.Sizes{}, err
			}
			if after, err = addSizes(&sum, answer); err != nil {
				return item.Sizes{}, err
			}
		}
	}
	return sum, nil
}

// addSizes adds the answer of sizes.lua, and returns behind which warehouse there are more.
func addSizes(sum *item.Sizes, answer []string) (string, error) {
	rows := len(answer) - sizesHead - sizesLevels
	if rows < 0 || rows%sizesRow != 0 {
		return "", fmt.Errorf("%w: sizes.lua gave %d values", errAnswer, len(answer))
	}
	head, err := counts([]string{answer[1], answer[4]})
	if err != nil {
		return "", err
	}
	sum.Pause = item.Pause{Paused: answer[2] == "1", By: answer[3], At: fromMicro(head[1])}
	sum.Recent.Span = time.Duration(head[0]) * time.Microsecond
	for i, value := range answer[sizesHead : sizesHead+sizesLevels] {
		if value == "" {
			continue
		}
		first, err := parseValue("", value+"\n")
		if err != nil {
			return "", err
		}
		// Of several parts the oldest counts. Within one it is the first in the order of service.
		if level := &sum.Levels[i]; level.Oldest.IsZero() || first.Ready.Before(level.Oldest) {
			level.Oldest = first.Ready
		}
	}
	for row := answer[sizesHead+sizesLevels:]; len(row) > 0; row = row[sizesRow:] {
		if err := addDepth(sum, row[:sizesRow]); err != nil {
			return "", err
		}
	}
	return answer[0], nil
}

// addDepth adds what there is of one warehouse.
func addDepth(sum *item.Sizes, row []string) error {
	name, err := readWarehouse(row[0])
	if err != nil {
		return fmt.Errorf("%w: %w", errAnswer, err)
	}
	n, err := counts(row[1:])
	if err != nil {
		return err
	}
	d := item.Depth{Warehouse: name}
	for i := range sum.Levels {
		d.Ready += n[i]
		sum.Levels[i].Ready += n[i]
	}
	n = n[sizesLevels:]
	d.Assigned, d.Leased, d.Delayed, d.Suspended, d.Stored, d.Dead = n[0], n[1], n[2], n[3], n[4], n[5]
	d.Recent = item.Recent{Span: sum.Recent.Span, Pushed: n[6], Done: n[7], Failed: n[8], Dead: n[9]}
	sum.Warehouses = append(sum.Warehouses, d)

	sum.Ready += d.Ready
	sum.Assigned += d.Assigned
	sum.Leased += d.Leased
	sum.Delayed += d.Delayed
	sum.Suspended += d.Suspended
	sum.Stored += d.Stored
	sum.Dead += d.Dead
	sum.Recent.Pushed += d.Recent.Pushed
	sum.Recent.Done += d.Recent.Done
	sum.Recent.Failed += d.Recent.Failed
	sum.Recent.Dead += d.Recent.Dead
	return nil
}
