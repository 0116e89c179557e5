package queue

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/item"
)

// keySpace builds the names of all keys of a queue or of its test twin. No other Go code builds them. All names of a
// queue and its twin share a hash tag, so all keys lie on one node of a cluster. With the prefix tallyman: and the
// queue replenishment:
//
//	tallyman:{replenishment}:epoch        hash  epoch: the one in force, for the queue and its twin
//	tallyman:{replenishment}:meta         hash  epoch, layout, paused, due, out, drained …: see scripts/common.lua
//	tallyman:{replenishment}:items        hash  id → head, newline, payload or its mark: see value.go
//	tallyman:{replenishment}:payloads     hash  id → payload, of the items whose values have the mark
//	tallyman:{replenishment}:news         hash  id → the change that a leased item takes over when it waits again
//	tallyman:{replenishment}:assigned     zset  worker, level, rank and id of assigned items, all at score 0
//	tallyman:{replenishment}:waits        zset  state, warehouse → no such item is due before this time, µs
//	tallyman:{replenishment}:warehouses   zset  the warehouses that have items, all at score 0
//	tallyman:{replenishment}:dedupe       hash  bucket → "<until, µs; 0 = until the item has ended> <id>"
//	tallyman:{replenishment}:windows      zset  bucket → when its entry is no longer needed, µs
//	tallyman:{replenishment}:outbox       list  moves that are not in the ledger yet
//	tallyman:{replenishment}:request:w/A  string  the last request of a caller and its answer; with a TTL
//	tallyman:{replenishment}:test:meta    … the same keys of the twin
//
// Each level (5 to 1) and each warehouse has further keys. The scripts build the names of these keys in the same way as
// the functions here. No call declares them, because only the items tell which ones a call needs. For the warehouse
// 119240:
//
//	tallyman:{replenishment}:heads:5           zset  ready list of the level → the lowest score in that list
//	tallyman:{replenishment}:ready:5:119240    zset  id → the time when the item became ready, µs, made distinct
//	tallyman:{replenishment}:ready:5:119240/o  zset  place and id → order, of the items that have an order
//	tallyman:{replenishment}:since:5:119240    zset  the members of ready:5:119240/o, sorted by place
//	tallyman:{replenishment}:assigned:119240   zset  like assigned
//	tallyman:{replenishment}:leased:119240     zset  id → end of its lease, µs
//	tallyman:{replenishment}:delayed:119240    zset  id → when it becomes ready, µs; also suspended, stored
//	tallyman:{replenishment}:dead:119240       zset  id → when it died, µs
//	tallyman:{replenishment}:recent:119240     hash  counts of the last five minutes
type keySpace struct{ base string }

func newKeys(prefix, queue string, test bool) (keySpace, error) {
	for _, part := range [][2]string{{"prefix", prefix}, {"name", queue}} {
		if strings.ContainsAny(part[1], "{}") || strings.ContainsFunc(part[1], func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return keySpace{}, fmt.Errorf("queue: the %s %q must have no braces, spaces or control characters", part[0], part[1])
		}
	}
	k := keySpace{base: prefix + "{" + queue + "}:"}
	if test {
		k.base += "test:"
	}
	return k, nil
}

func (k keySpace) epoch() string      { return k.base + "epoch" }
func (k keySpace) meta() string       { return k.base + "meta" }
func (k keySpace) items() string      { return k.base + "items" }
func (k keySpace) waits() string      { return k.base + "waits" }
func (k keySpace) warehouses() string { return k.base + "warehouses" }
func (k keySpace) assigned() string   { return k.base + "assigned" }
func (k keySpace) dedupe() string     { return k.base + "dedupe" }
func (k keySpace) windows() string    { return k.base + "windows" }
func (k keySpace) outbox() string     { return k.base + "outbox" }
func (k keySpace) payloads() string   { return k.base + "payloads" }
func (k keySpace) news() string       { return k.base + "news" }

// request is the key of the last request of a caller, and its answer.
func (k keySpace) request(caller string) string { return k.base + "request:" + caller }

// hints is the channel on which waiting calls learn that there may be items for them.
func (k keySpace) hints() string { return k.base + "hints" }

// all returns the keys of a queue in the order in which every script declares them. The slice has capacity for more
// keys.
func (k keySpace) all(more int) []string {
	return append(make([]string, 0, 10+more), k.meta(), k.items(), k.assigned(), k.waits(), k.warehouses(), k.dedupe(), k.windows(), k.outbox(),
		k.payloads(), k.news())
}

// layout is the version of the keys and values. If Redis has another layout, the queue is written back from the ledger.
const layout = 5

// formerly returns keys of older layouts: all of layout 1, which had no keys of warehouses, and the shared keys of
// layouts 2 and 3.
func (k keySpace) formerly() []string {
	list := []string{k.base + "heads", k.base + "leased", k.base + "delayed", k.base + "suspended", k.base + "stored", k.base + "dead"}
	for level := item.HighestPriority; level >= item.LowestPriority; level-- {
		list = append(list, k.base+"ready:"+strconv.Itoa(level))
	}
	return list
}

// noWarehouse stands in keys and values for an item without a warehouse. Escaping never produces this text.
const noWarehouse = "="

// warehouseName returns a warehouse as keys and values have it.
func warehouseName(warehouse string) string {
	if warehouse == "" {
		return noWarehouse
	}
	return url.QueryEscape(warehouse)
}

// readWarehouse reads what warehouseName has written.
func readWarehouse(name string) (string, error) {
	if name == noWarehouse {
		return "", nil
	}
	return url.QueryUnescape(name)
}

// scopeNames returns the warehouses of a scope as the scripts take them. "*" is every warehouse.
func scopeNames(s item.Scope) string {
	if s == nil {
		return "*"
	}
	var b strings.Builder
	for _, warehouse := range s {
		if warehouse == "" {
			continue // an item without a warehouse is visible in the scope of all warehouses only
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(warehouseName(warehouse))
	}
	return b.String()
}

const (
	idTime   = 6  // bytes of the time in an id, in ms
	idRandom = 10 // random bytes behind the time
)

// lowerBase32 keeps the sort order of the bytes that it encodes.
var lowerBase32 = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// newIDs makes ids for the items of a push that have none. An id begins with the time. So the ledger's index of ids
// grows at its end only: random insertions cost more and more as the index grows.
type newIDs struct {
	at     time.Time
	random []byte // for the next ids
}

// next returns a new id. more is how many ids the push still needs, including this one.
func (n *newIDs) next(more int) string {
	if len(n.random) == 0 {
		n.random = make([]byte, more*idRandom)
		_, _ = rand.Read(n.random) // never fails
	}
	var b [8 + idRandom]byte
	binary.BigEndian.PutUint64(b[:], uint64(n.at.UnixMilli()))
	copy(b[8:], n.random)
	n.random = n.random[idRandom:]
	var text [32]byte
	return string(lowerBase32.AppendEncode(append(text[:0], "i_"...), b[8-idTime:]))
}
