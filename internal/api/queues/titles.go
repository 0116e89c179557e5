package queues

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"tallyman/internal/api"
	"tallyman/internal/notice"
	"tallyman/internal/wire"
)

// Notices reads the notices that items were made of.
type Notices interface {
	// Notices returns those of the ids that the ledger still has.
	Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error)
}

// title gives the items that were made of notices their titles in the first of the languages that the notice has. The payload has the title in the first language
// of the site alone. An item whose notice is gone, or cannot be read now, has no title.
func (h *Handlers) title(ctx context.Context, language string, items ...*wire.ItemForm) {
	sources := map[string][]*wire.ItemForm{} // by the id of the notice
	for _, it := range items {
		if id := sourceOf(it); id != "" {
			sources[id] = append(sources[id], it)
		}
	}
	if len(sources) == 0 || h.deps.Notices == nil {
		return
	}
	ids := make([]string, 0, len(sources))
	for id := range sources {
		ids = append(ids, id)
	}
	notices, err := h.deps.Notices.Notices(ctx, ids)
	if err != nil {
		h.log.LogAttrs(ctx, slog.LevelWarn, "Titles of items could not be read from their notices. The answer leaves the titles out.", slog.Any("error", err))
		return
	}
	langs := api.Languages(language)
	for id, n := range notices {
		for _, it := range sources[id] {
			if n.Warehouse == it.Warehouse {
				it.Title = api.Localize(n, langs).Title
			}
		}
	}
}

// sourceOf is the id of the notice that the item's payload is; "" = the payload is none. A business system may push a payload that only looks like one: then the item
// has an id of another kind.
func sourceOf(it *wire.ItemForm) string {
	var payload struct {
		ID string `json:"id"`
	}
	if !strings.HasPrefix(it.ID, "n_") || json.Unmarshal(it.Payload, &payload) != nil || !strings.HasPrefix(payload.ID, "n_") {
		return ""
	}
	return payload.ID
}
