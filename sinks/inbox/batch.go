package inbox

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// entry is one notice on its way into Redis.
type entry struct {
	id      string
	body    []byte
	created int64 // µs
	expires int64 // µs
	score   int64 // 0 means that the script gives one
	popup   bool  // the notice is modal
	seq     int64 // number of the delivery
	to      []string
}

// newEntry encodes a notice with its recipients. The recipients of a wide notice are left out, because Redis keeps them
// apart. A notice larger than maxNotice is refused.
func (in writer) newEntry(d *delivery.Delivery, score int64) (entry, error) {
	n, to := d.Notice, d.Recipients
	beside := to
	if len(to) > in.o.maxInboxes {
		beside = nil
	}
	body, err := notice.MarshalFor(n, beside)
	if err != nil {
		return entry{}, err
	}
	if len(body) > maxNotice {
		return entry{}, fmt.Errorf("inbox: notice %s has %d bytes; an inbox takes %d at most", n.ID, len(body), maxNotice)
	}
	return entry{
		id: n.ID, body: body, created: n.CreatedAt.UnixMicro(), expires: n.ExpiresAt.UnixMicro(), score: score, popup: n.Modal == "popup", to: to, seq: d.Seq,
	}, nil
}

// audience is a set of notices with the same recipients.
type audience struct {
	to      []string
	notices []int
}

// audiences groups the entries. Consecutive entries often have the same recipients, so the last group is compared
// first, without building a key.
func audiences(batch []entry) []audience {
	var out []audience
	byKey := map[string]int{}
	last := -1
	for i, e := range batch {
		if last < 0 || !slices.Equal(out[last].to, e.to) {
			key := strings.Join(e.to, "\n")
			at, ok := byKey[key]
			if !ok {
				at = len(out)
				byKey[key] = at
				out = append(out, audience{to: e.to})
			}
			last = at
		}
		out[last].notices = append(out[last].notices, i)
	}
	return out
}

// noticeSet is a set of notices that go into the same inboxes.
type noticeSet struct {
	inboxes []int // positions in the subscribers
	notices []int // positions in the batch
}

// lists returns the subscribers that get notices, and lists such that every subscriber is in exactly one list. So Redis
// runs one ZADD per inbox, and inboxes with equal contents share its arguments.
func lists(groups []audience) (subscribers []string, out []noticeSet) {
	number := map[string]int{}
	var member [][]int // for each subscriber the audiences it is in
	for a, g := range groups {
		for _, s := range g.to {
			at, ok := number[s]
			if !ok {
				at = len(subscribers)
				number[s] = at
				subscribers = append(subscribers, s)
				member = append(member, nil)
			}
			if n := len(member[at]); n == 0 || member[at][n-1] != a {
				member[at] = append(member[at], a)
			}
		}
	}
	byKey := map[string]int{}
	var key []byte
	for s, in := range member {
		key = key[:0]
		for _, a := range in {
			key = binary.AppendUvarint(key, uint64(a)) //nolint:gosec // an index
		}
		at, ok := byKey[string(key)]
		if !ok {
			at = len(out)
			byKey[string(key)] = at
			out = append(out, noticeSet{notices: merge(groups, in)})
		}
		out[at].inboxes = append(out[at].inboxes, s)
	}
	return subscribers, out
}

// merge returns the notices of several audiences, in the order of the batch.
func merge(groups []audience, which []int) []int {
	if len(which) == 1 {
		return groups[which[0]].notices
	}
	var out []int
	for _, a := range which {
		out = append(out, groups[a].notices...)
	}
	slices.Sort(out)
	return out
}

// fanoutCall has the arguments of a call of fanout.lua, or a wide notice.
type fanoutCall struct {
	epoch   string
	notices int
	keys    []string
	args    []any
	wide    *entry
	channel string // of the hint for the wide notice
}

// newFanoutCall makes a call for one chunk. Without a channel, the script publishes no hint.
func (in writer) newFanoutCall(epoch, warehouse, channel string, batch []entry) *fanoutCall {
	if in.isWide(&batch[0]) {
		return &fanoutCall{epoch: epoch, notices: 1, wide: &batch[0], channel: channel}
	}
	subscribers, lists := lists(audiences(batch))
	keys := append(in.keys.all(warehouse, 2*len(subscribers))[:5], in.keys.wide(warehouse))
	keys = in.keys.addInboxes(keys, warehouse, subscribers)
	args := make([]any, 0, 9+4*len(batch)+2*len(subscribers))
	args = append(args, epoch, in.now(), in.o.Cap, channel, hint{warehouse: warehouse, subscribers: subscribers}.String(), lastOrigin(batch), len(batch))
	for _, e := range batch {
		args = append(args, e.id, e.body)
	}
	for _, e := range batch {
		args = append(args, strconv.FormatInt(e.expires, 10))
	}
	for _, e := range batch {
		args = append(args, e.score)
	}
	args = append(args, 0)
	count := len(args) - 1
	for i, e := range batch {
		if e.popup {
			args = append(args, i+1)
		}
	}
	args[count] = len(args) - count - 1
	for _, s := range subscribers {
		args = append(args, s)
	}
	for _, l := range lists {
		args = append(args, len(l.inboxes))
		for _, i := range l.inboxes {
			args = append(args, i+1)
		}
		if len(l.notices) == len(batch) {
			args = append(args, 0)
			continue
		}
		args = append(args, len(l.notices))
		for _, i := range l.notices {
			args = append(args, i+1)
		}
	}
	return &fanoutCall{epoch: epoch, notices: len(batch), keys: keys, args: args}
}

func (in writer) isWide(e *entry) bool { return len(e.to) > in.o.maxInboxes }

// chunks splits a batch so that each script call stays short. A wide notice gets a chunk of its own.
func (in writer) chunks(batch []entry) [][]entry {
	var out [][]entry
	from, size, pairs := 0, 0, 0
	inboxes := map[string]bool{}
	var last []string // the recipients of the entry before, which are often the same
	for i := range batch {
		e := &batch[i]
		more := 0
		if i == from || !slices.Equal(last, e.to) {
			for _, s := range e.to {
				if !inboxes[s] {
					more++
				}
			}
		}
		full := i-from == maxBatch || size+len(e.body) > maxBytes || pairs+len(e.to) > maxPairs || len(inboxes)+more > in.o.maxInboxes
		if i > from && (full || in.isWide(e) || in.isWide(&batch[i-1])) {
			out = append(out, batch[from:i])
			from, size, pairs, more = i, 0, 0, 1
			clear(inboxes)
		}
		if more > 0 && !in.isWide(e) {
			for _, s := range e.to {
				inboxes[s] = true
			}
		}
		size += len(e.body)
		pairs += len(e.to)
		last = e.to
	}
	if from < len(batch) {
		out = append(out, batch[from:])
	}
	return out
}
