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

// Notices reads the notices from which items were made.
type Notices interface {
	// Notices returns the notices with the ids, as far as the ledger still has them.
	Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error)
}

// title sets the titles of items that were made from notices, in the first of the client's languages that the notice
// has. The payload only has the title in the first language of the site. If the notice is gone or cannot be read now,
// the item gets no title.
func (h *Handlers) title(ctx context.Context, language string, items ...*wire.ItemForm) {
	sources := map[string][]*wire.ItemForm{} // By the id of the notice.
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

// sourceOf returns the id of the notice in the item's payload, or "". A business system can push a payload that looks
// like a notice, but then the id of the item does not begin with n_.
func sourceOf(it *wire.ItemForm) string {
	var payload struct {
		ID string `json:"id"`
	}
	if !strings.HasPrefix(it.ID, "n_") || json.Unmarshal(it.Payload, &payload) != nil || !strings.HasPrefix(payload.ID, "n_") {
		return ""
	}
	return payload.ID
}
