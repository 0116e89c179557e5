package inbox

import (
	"context"
	"slices"

	"tallyman/internal/notice"
)

// holding is an inbox and the notices that it may hold.
type holding struct {
	subscriber string
	ids        []string
}

// holders collects for each inbox the notices that it may hold.
type holders struct {
	list []holding // in the order of their first notice
	at   map[string]int
}

func (h *holders) add(id string, to []string) {
	if h.at == nil {
		h.at = map[string]int{}
	}
	for _, s := range to {
		at, ok := h.at[s]
		if !ok {
			at = len(h.list)
			h.at[s] = at
			h.list = append(h.list, holding{subscriber: s})
		}
		h.list[at].ids = append(h.list[at].ids, id)
	}
}

// adds returns how many inboxes would be new in the list.
func (h *holders) adds(to []string) int {
	n := 0
	for _, s := range to {
		if _, ok := h.at[s]; !ok {
			n++
		}
	}
	return n
}

// dropped removes bodies of notices that the cap has removed, unless another inbox holds them. If that fails, the
// bodies stay until they expire.
func (in remover) dropped(ctx context.Context, epoch, warehouse string, ids []string) {
	if len(ids) == 0 {
		return
	}
	if err := in.drop(ctx, epoch, warehouse, ids); err != nil {
		in.log.Warn("Bodies that no inbox holds were not removed. They stay until they expire.",
			"warehouse", warehouse, "error", err)
	}
}

// bodyPage is how many bodies one command reads.
const bodyPage = 20

// drop removes the bodies of notices that no inbox holds any more. Each call of the script checks all inboxes of its
// notices in one step, so that no notice can enter an inbox in between.
func (in remover) drop(ctx context.Context, epoch, warehouse string, ids []string) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var r removal
	var h holders
	pairs := 0
	flush := func() error {
		r.held = h.list
		_, err := in.remove(ctx, epoch, warehouse, r)
		r, h, pairs = removal{}, holders{}, 0
		return err
	}
	for part := range slices.Chunk(ids, bodyPage) {
		bodies, err := in.o.Client.HMGet(ctx, in.keys.notices(warehouse), part...).Result()
		if err != nil {
			return err
		}
		for i, id := range part {
			body, ok := bodies[i].(string)
			if !ok {
				continue
			}
			to := in.recipients(warehouse, id, body)
			if len(to) > in.o.maxInboxes { // a body from a version without wide notices; it stays until it expires
				continue
			}
			if pairs+len(to) > maxPairs || len(h.list)+h.adds(to) > in.o.maxInboxes || len(r.ids)+len(r.wide) == maxBatch {
				if err := flush(); err != nil {
					return err
				}
			}
			h.add(id, to)
			pairs += len(to)
			r.take(id, to)
		}
	}
	if len(r.ids)+len(r.wide) == 0 {
		return nil
	}
	return flush()
}

// recipients returns the recipients in the body. The body of a wide notice has none.
func (in remover) recipients(warehouse, id, body string) []string {
	to, err := notice.Recipients([]byte(body))
	if err != nil {
		in.log.Error("A body in Redis is not a notice. It is removed.", "warehouse", warehouse, "id", id, "error", err)
	}
	return to
}

// removal is the work of one call of sweep.lua.
type removal struct {
	expired bool      // true: remove the notices from the inboxes; false: remove only bodies that no inbox holds
	open    string    // the open delivery that must still be open; "" means any or none
	blocks  []string  // blocks of ids that expire together
	ids     []string  // notices whose bodies are removed
	wide    []string  // the same, for wide notices
	held    []holding // inboxes that may hold notices
}

// take adds a body to the removal. A body without recipients belongs to a wide notice.
func (r *removal) take(id string, to []string) {
	if len(to) == 0 {
		r.wide = append(r.wide, id)
	} else {
		r.ids = append(r.ids, id)
	}
}

// remove makes one call of sweep.lua, and returns how many bodies were removed.
func (in remover) remove(ctx context.Context, epoch, warehouse string, r removal) (int64, error) {
	keys := append(in.keys.all(warehouse, len(r.wide)+len(r.held))[:3], in.keys.popups(warehouse), in.keys.wide(warehouse))
	for _, id := range r.wide {
		keys = append(keys, in.keys.to(warehouse, id))
	}
	args := make([]any, 0, 6+len(r.blocks)+3*len(r.ids)+2*len(r.held))
	args = append(args, epoch, flag(r.expired), r.open, len(r.blocks))
	args = appendTexts(args, r.blocks)
	args = append(args, len(r.wide), len(r.wide)+len(r.ids))
	args = appendTexts(args, r.wide)
	args = appendTexts(args, r.ids)
	for _, h := range r.held {
		keys = append(keys, in.keys.inbox(warehouse, h.subscriber))
		args = append(args, len(h.ids))
		args = appendTexts(args, h.ids)
	}
	return in.runCount(ctx, in.scripts.sweep, keys, args...)
}

func appendTexts(args []any, list []string) []any {
	for _, s := range list {
		args = append(args, s)
	}
	return args
}
