package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/sinks"
)

// gonePusher answers everything with 410.
type gonePusher struct{}

func (gonePusher) Push(context.Context, []delivery.Delivery) error {
	return &sinks.GoneError{Err: errors.New("h answered 410 Gone")}
}

// Only the answer to a ready_again removes an item. A node that does not have the queue leaves the event to other
// nodes.
func TestGoneIsOfReadyAgainAlone(t *testing.T) {
	t.Parallel()
	p := &eventPusher{Pusher: gonePusher{}, sink: "gateway", log: slog.New(slog.DiscardHandler)}
	event := func(seq int64, typ string, e item.Event) delivery.Delivery {
		told := item.Told{Queue: "picking", ID: "a", Event: e}
		return delivery.Delivery{Seq: seq, Notice: &notice.Notice{Type: typ, Data: told.Fields()}}
	}
	for what, c := range map[string]struct {
		batch []delivery.Delivery
		want  string
	}{
		"another event":   {[]delivery.Delivery{event(1, catalog.ItemEvent, item.EventDead)}, "h answered 410 Gone"},
		"another notice":  {[]delivery.Delivery{event(1, "REP_NOTICE", item.EventReadyAgain)}, "h answered 410 Gone"},
		"others together": {[]delivery.Delivery{event(1, "REP_NOTICE", ""), event(2, catalog.ItemEvent, item.EventDone)}, "h answered 410 Gone"},
		"some together":   {[]delivery.Delivery{event(1, "REP_NOTICE", ""), event(2, catalog.ItemEvent, item.EventReadyAgain)}, "2 deliveries refused, no further attempt: h answered 410 Gone"},
		"no queue": {
			[]delivery.Delivery{event(1, catalog.ItemEvent, item.EventReadyAgain)}, "item a was not removed, because this node has no queue picking: h answered 410 Gone",
		},
	} {
		if err := p.Push(t.Context(), c.batch); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
