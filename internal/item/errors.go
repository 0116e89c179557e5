package item

import "fmt"

// InvalidError says what is wrong with what a queue was asked.
type InvalidError struct {
	// Field is named as the API names it: id, priority, payload, dedupeKey, delay, attempt, note, op, worker, lease, max, wait,
	// requestId, items, ops, state, from, to, limit, after.
	Field   string
	Index   int // in the list of items or operations; -1 = it is none of theirs
	Message string
}

// Error names the place and what is wrong there.
func (e *InvalidError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("%s: %s", e.Field, e.Message)
	}
	return fmt.Sprintf("[%d].%s: %s", e.Index, e.Field, e.Message)
}
