package inbox

import (
	"context"
	"slices"

	"tallyman/engine/notice"
)

// holders lists for each inbox the notices that it may hold.
type holders struct {
	subscribers []string // in the order of their first notice
	ids         map[string][]string
}

func (h *holders) add(id string, body string) error {
	to, err := notice.Recipients([]byte(body))
	if err != nil {
		return err
	}
	if h.ids == nil {
		h.ids = map[string][]string{}
	}
	for _, s := range to {
		if _, ok := h.ids[s]; !ok {
			h.subscribers = append(h.subscribers, s)
		}
		h.ids[s] = append(h.ids[s], id)
	}
	return nil
}

// drop removes the bodies of those notices that no inbox holds any more.
func (in *Inbox) drop(ctx context.Context, epoch, warehouse string, ids []string) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for part := range slices.Chunk(ids, maxBatch) {
		bodies, err := in.o.Client.HMGet(ctx, in.keys.notices(warehouse), part...).Result()
		if err != nil {
			return err
		}
		var h holders
		var there []string
		for i, id := range part {
			body, ok := bodies[i].(string)
			if !ok {
				continue
			}
			there = append(there, id)
			if err := h.add(id, body); err != nil {
				in.log.Error("a body in Redis is no notice; it goes", "warehouse", warehouse, "id", id, "error", err)
			}
		}
		if len(there) == 0 {
			continue
		}
		if _, err := in.remove(ctx, epoch, warehouse, false, nil, there, h); err != nil {
			return err
		}
	}
	return nil
}

// remove is one call of sweep.lua.
func (in *Inbox) remove(ctx context.Context, epoch, warehouse string, expired bool, blocks, ids []string, h holders) (int64, error) {
	keys := append(in.keys.all(warehouse, len(h.subscribers))[:3], in.keys.popups(warehouse))
	args := make([]any, 0, 4+len(blocks)+3*len(ids)+len(h.subscribers))
	mode := 0
	if expired {
		mode = 1
	}
	args = append(args, epoch, mode, len(blocks))
	args = appendTexts(args, blocks)
	args = append(args, len(ids))
	args = appendTexts(args, ids)
	for _, s := range h.subscribers {
		keys = append(keys, in.keys.inbox(warehouse, s))
		args = append(args, len(h.ids[s]))
		args = appendTexts(args, h.ids[s])
	}
	return in.runCount(ctx, in.scripts.sweep, keys, args...)
}

func appendTexts(args []any, list []string) []any {
	for _, s := range list {
		args = append(args, s)
	}
	return args
}
