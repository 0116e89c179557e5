package inbox

import (
	"slices"
	"strconv"
	"strings"
)

// hint says that something moved in a warehouse, and for whom. On the channel it is the warehouse, the subscribers and the
// span of the clock, a line each.
type hint struct {
	warehouse   string
	subscribers []string // none = anybody
	// The clock went from one score to the other. Hints of a warehouse join end to end, so whoever meets a gap knows that
	// one was lost. 0 = the hint does not say.
	from, to int64
}

const maxHinted = 200 // subscribers; a hint to more is one to anybody

// String is the hint without its span, which the scripts add.
func (h hint) String() string {
	if len(h.subscribers) > maxHinted {
		return h.warehouse
	}
	return strings.Join(append([]string{h.warehouse}, h.subscribers...), "\n")
}

func parseHint(s string) hint {
	parts := strings.Split(s, "\n")
	h := hint{warehouse: parts[0], subscribers: parts[1:]}
	last := len(h.subscribers) - 1
	if last < 0 || strings.Contains(h.subscribers[last], ":") {
		return h
	}
	from, to, _ := strings.Cut(h.subscribers[last], "-")
	h.subscribers = h.subscribers[:last]
	f, ferr := strconv.ParseInt(from, 10, 64)
	t, terr := strconv.ParseInt(to, 10, 64)
	if ferr == nil && terr == nil {
		h.from, h.to = f, t
	}
	return h
}

func (h hint) concerns(sorted []string) bool {
	if len(h.subscribers) == 0 {
		return true
	}
	return slices.ContainsFunc(h.subscribers, func(s string) bool {
		_, ok := slices.BinarySearch(sorted, s)
		return ok
	})
}
