package queue

import (
	"fmt"
	"strconv"
	"strings"

	"tallyman/sinks/queue/item"
)

// keys builds the names of all keys of a queue or of its twin, and nothing else does. They share a hash tag, so that they lie
// on one node of a cluster; the twin's lie beside its queue's. With the prefix tallyman: and the queue replenishment:
//
//	tallyman:{replenishment}:epoch        hash  epoch: that in force, of the queue and its twin
//	tallyman:{replenishment}:meta         hash  epoch, paused, due, out, drained, drainer, drain_until
//	tallyman:{replenishment}:items        hash  id → head, newline, payload: see value.go
//	tallyman:{replenishment}:ready:5      list  ids in the order of service; one per level, 5 to 1
//	tallyman:{replenishment}:assigned     zset  worker, level and number of its own items, all at score 0
//	tallyman:{replenishment}:leased       zset  id → end of its lease, µs
//	tallyman:{replenishment}:delayed      zset  id → when it becomes ready, µs; so suspended, stored
//	tallyman:{replenishment}:dead         zset  id → when it died, µs
//	tallyman:{replenishment}:dedupe       hash  bucket → "<until, µs; 0 = until the item has ended> <id>"
//	tallyman:{replenishment}:windows      zset  bucket → when its entry is of no use any more, µs
//	tallyman:{replenishment}:outbox       list  what has moved and is not in the ledger yet
//	tallyman:{replenishment}:request:w/A  string  the last request of a caller and its answer; with a TTL
//	tallyman:{replenishment}:test:meta    … the twin's
type keys struct{ base string }

func newKeys(prefix, queue string, test bool) (keys, error) {
	for what, s := range map[string]string{"prefix": prefix, "name": queue} {
		if strings.ContainsAny(s, "{}") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return keys{}, fmt.Errorf("queue: the %s %q must have no braces, spaces or control characters", what, s)
		}
	}
	k := keys{base: prefix + "{" + queue + "}:"}
	if test {
		k.base += "test:"
	}
	return k, nil
}

func (k keys) epoch() string     { return k.base + "epoch" }
func (k keys) meta() string      { return k.base + "meta" }
func (k keys) items() string     { return k.base + "items" }
func (k keys) assigned() string  { return k.base + "assigned" }
func (k keys) leased() string    { return k.base + "leased" }
func (k keys) delayed() string   { return k.base + "delayed" }
func (k keys) suspended() string { return k.base + "suspended" }
func (k keys) stored() string    { return k.base + "stored" }
func (k keys) dead() string      { return k.base + "dead" }
func (k keys) dedupe() string    { return k.base + "dedupe" }
func (k keys) windows() string   { return k.base + "windows" }
func (k keys) outbox() string    { return k.base + "outbox" }

func (k keys) ready(level int) string { return k.base + "ready:" + strconv.Itoa(level) }

// request holds the last request of a caller.
func (k keys) request(caller string) string { return k.base + "request:" + caller }

// hints is the channel on which those who wait are told that there may be something.
func (k keys) hints() string { return k.base + "hints" }

// all returns the keys of a queue in the order in which every script declares them, with room for more.
func (k keys) all(more int) []string {
	list := append(make([]string, 0, 16+more), k.meta(), k.items())
	for level := item.HighestPriority; level >= item.LowestPriority; level-- {
		list = append(list, k.ready(level))
	}
	return append(list, k.assigned(), k.leased(), k.delayed(), k.suspended(), k.stored(), k.dead(), k.dedupe(), k.windows(), k.outbox())
}
