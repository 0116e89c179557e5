package notice

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"
)

// Origin is what made a notice: a run, or a request of a business system. It is a hash of what every notice carries, so that a
// delivery hours later, on another node, still knows where it comes from, and nothing is stored for it. Logs show ID; traces
// have it as their id, with Span as the id of their first span.
type Origin struct {
	ID   [16]byte
	Span [8]byte
}

// String is the id in hexadecimal, as logs and traces show it.
func (o Origin) String() string { return fmt.Sprintf("%x", o.ID) }

// RunOrigin is that of the notices of a run, which have the time that it started at (µs, on the clock of warehouses) as CreatedAt.
func RunOrigin(rule, scope string, started time.Time) Origin {
	return originOf("run", rule, scope, strconv.FormatInt(started.UnixMicro(), 10))
}

// Origin is what made the notice.
func (n *Notice) Origin() Origin {
	if n.Status == Sent {
		return originOf("request", n.Episode)
	}
	return RunOrigin(n.Rule, n.Scope, n.CreatedAt)
}

func originOf(parts ...string) Origin {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	sum := h.Sum(nil)
	var o Origin
	copy(o.ID[:], sum)
	copy(o.Span[:], sum[len(o.ID):])
	return o
}
