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

// keySpace builds the names of all keys of a queue or of its twin, and nothing else does. They share a hash tag, so that they lie
// on one node of a cluster; the twin's lie beside its queue's. With the prefix tallyman: and the queue replenishment:
//
//	tallyman:{replenishment}:epoch        hash  epoch: that in force, of the queue and its twin
//	tallyman:{replenishment}:meta         hash  epoch, layout, paused, due, out, drained, drainer, drain_until
//	tallyman:{replenishment}:items        hash  id → head, newline, payload, or the mark that the payload lies apart: see value.go
//	tallyman:{replenishment}:payloads     hash  id → payload, of the items whose values have the mark
//	tallyman:{replenishment}:news         hash  id → what a leased item takes when it waits again
//	tallyman:{replenishment}:assigned     zset  worker, level, rank and id of its own items, all at score 0
//	tallyman:{replenishment}:waits        zset  state, warehouse → nothing of them is due before it, µs
//	tallyman:{replenishment}:warehouses   zset  those that have items, all at score 0
//	tallyman:{replenishment}:dedupe       hash  bucket → "<until, µs; 0 = until the item has ended> <id>"
//	tallyman:{replenishment}:windows      zset  bucket → when its entry is of no use any more, µs
//	tallyman:{replenishment}:outbox       list  what has moved and is not in the ledger yet
//	tallyman:{replenishment}:request:w/A  string  the last request of a caller and its answer; with a TTL
//	tallyman:{replenishment}:test:meta    … the twin's
//
// Each level, 5 to 1, and each warehouse has keys of its own, which the scripts name as these functions do, and declare in no call: only the items
// tell which they are. Of the warehouse 119240:
//
//	tallyman:{replenishment}:heads:5           zset  ready list of the level → the lowest score of it
//	tallyman:{replenishment}:ready:5:119240    zset  id → the time when it became ready, µs, made distinct
//	tallyman:{replenishment}:ready:5:119240/o  zset  place and id → order, of the items that have one
//	tallyman:{replenishment}:since:5:119240    zset  the same members in the order of their places
//	tallyman:{replenishment}:assigned:119240   zset  as assigned
//	tallyman:{replenishment}:leased:119240     zset  id → end of its lease, µs
//	tallyman:{replenishment}:delayed:119240    zset  id → when it becomes ready, µs; so suspended, stored
//	tallyman:{replenishment}:dead:119240       zset  id → when it died, µs
//	tallyman:{replenishment}:recent:119240     hash  what moved of late
type keySpace struct{ base string }

func newKeys(prefix, queue string, test bool) (keySpace, error) {
	for what, s := range map[string]string{"prefix": prefix, "name": queue} {
		if strings.ContainsAny(s, "{}") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return keySpace{}, fmt.Errorf("queue: the %s %q must have no braces, spaces or control characters", what, s)
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

// request holds the last request of a caller.
func (k keySpace) request(caller string) string { return k.base + "request:" + caller }

// hints is the channel on which those who wait are told that there may be something.
func (k keySpace) hints() string { return k.base + "hints" }

// all returns the keys of a queue in the order in which every script declares them, with room for more.
func (k keySpace) all(more int) []string {
	return append(make([]string, 0, 10+more), k.meta(), k.items(), k.assigned(), k.waits(), k.warehouses(), k.dedupe(), k.windows(), k.outbox(),
		k.payloads(), k.news())
}

// layout numbers what the keys and values are: where Redis has another one, the queue is written back from the ledger.
const layout = 5

// formerly returns the keys of layout 1, in which warehouses had none of their own, and what the layouts 2 and 3 had beside those of warehouses.
func (k keySpace) formerly() []string {
	list := []string{k.base + "heads", k.base + "leased", k.base + "delayed", k.base + "suspended", k.base + "stored", k.base + "dead"}
	for level := item.HighestPriority; level >= item.LowestPriority; level-- {
		list = append(list, k.base+"ready:"+strconv.Itoa(level))
	}
	return list
}

// noWarehouse stands in keys and values for none: no name is escaped so.
const noWarehouse = "="

// warehouseName is a warehouse as keys and values have it.
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

// scopeNames are the warehouses of a scope as the scripts take them.
func scopeNames(s item.Scope) string {
	if s == nil {
		return "*"
	}
	var b strings.Builder
	for i, warehouse := range s {
		if warehouse == "" {
			continue // what belongs to none is in no scope but that of all
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(warehouseName(warehouse))
	}
	return b.String()
}

const (
	idTime   = 6  // bytes of the time in an id: ms
	idRandom = 10 // bytes of chance behind them
)

// lowerBase32 keeps the order of what it encodes.
var lowerBase32 = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// newIDs names the items of a push that came without names. An id begins with the time, so that the index of ids in the ledger
// grows at its end: what lies anywhere in it costs more, the more there is.
type newIDs struct {
	at     time.Time
	random []byte // for those that are to come
}

// next returns another id. More is how many the push may want, this one among them.
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
