package queue

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/item"
)

// Sizes returns how full the queue or its twin is, for the warehouses of the scope. Up to 200 warehouses are counted at
// one moment. The errors are recovery.ErrUnavailable and the context's.
func (q *Queue) Sizes(ctx context.Context, test bool, scope item.Scope) (item.Sizes, error) {
	var sizes item.Sizes
	parts := []item.Scope{nil}
	if scope != nil {
		parts = nil
		for rest := scope; len(rest) > 0 || parts == nil; rest = rest[min(len(rest), sizesAtOnce):] {
			parts = append(parts, rest[:min(len(rest), sizesAtOnce):min(len(rest), sizesAtOnce)])
		}
	}
	for _, part := range parts {
		if part == nil && scope != nil {
			part = item.Scope{} // an empty scope; nil would mean all warehouses
		}
		for after, more := "", true; more; more = after != "" {
			answer, _, err := q.read(ctx, q.line(test), q.reads.sizes, scopeNames(part), after, sizesAtOnce)
			if err != nil {
				return item.Sizes{}, err
			}
			if after, err = addSizes(&sizes, answer); err != nil {
				return item.Sizes{}, err
			}
		}
	}
	return sizes.Sum(), nil
}

// addSizes adds the warehouses in an answer of sizes.lua. addSizes returns the last warehouse if there are more behind
// it, else "".
func addSizes(sizes *item.Sizes, answer []string) (string, error) {
	if len(answer) < sizesHead || (len(answer)-sizesHead)%sizesRow != 0 {
		return "", fmt.Errorf("%w: sizes.lua gave %d values", errAnswer, len(answer))
	}
	head, err := counts([]string{answer[1], answer[4]})
	if err != nil {
		return "", err
	}
	sizes.Pause = item.Pause{Paused: answer[2] == "1", By: answer[3], At: fromMicro(head[1])}
	sizes.Recent.Span = time.Duration(head[0]) * time.Microsecond
	for row := answer[sizesHead:]; len(row) > 0; row = row[sizesRow:] {
		depth, err := readDepth(row[:sizesRow])
		if err != nil {
			return "", err
		}
		depth.Recent.Span = sizes.Recent.Span
		sizes.Warehouses = append(sizes.Warehouses, depth)
	}
	return answer[0], nil
}

// readDepth reads the row of one warehouse.
func readDepth(row []string) (item.Depth, error) {
	name, err := readWarehouse(row[0])
	if err != nil {
		return item.Depth{}, fmt.Errorf("%w: %w", errAnswer, err)
	}
	n, err := counts(row[1 : 1+sizesCounts])
	if err != nil {
		return item.Depth{}, err
	}
	d := item.Depth{
		Warehouse: name, Assigned: n[0], Leased: n[1], Delayed: n[2], Suspended: n[3], Stored: n[4], Dead: n[5], DeadSince: fromMicro(n[10]),
		Recent: item.Recent{Pushed: n[6], Done: n[7], Failed: n[8], Dead: n[9]}, Levels: make([]item.Level, item.Levels),
	}
	for i := range d.Levels {
		of, err := counts(row[1+sizesCounts+2*i:][:2])
		if err != nil {
			return item.Depth{}, err
		}
		d.Levels[i] = item.Level{Priority: item.HighestPriority - i, Ready: of[0], Oldest: fromMicro(of[1])}
		d.Ready += of[0]
	}
	return d, nil
}
