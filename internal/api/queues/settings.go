package queues

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/internal/wire"
)

type (
	settingsInput  struct{ QueuePath }
	settingsOutput struct{ Body wire.QueueSettingsForm }
	settingsChange struct {
		QueuePath
		Body wire.SettingsAsk
	}
)

func (h *Handlers) registerSettings(operations huma.API) {
	huma.Register(operations, api.Operation("get-queue-settings", http.MethodGet, "/queues/{queue}/settings", "queues", "Show the settings of a queue, and which of them an operator has set"), h.getSettings)
	set := api.Operation("set-queue-settings", http.MethodPost, "/queues/{queue}/settings", "queues", "Change settings of a queue while it runs")
	set.Description = "The settings hold on every node within a second, for the queue and its test twin. They replace the configuration until somebody resets them. They hold " +
		"for all warehouses, so the token must be for all warehouses. The later of two changes of a setting wins. Waiting items stay as they are: a leased or " +
		"delayed item keeps its time. An item keeps its failures, which count against maxAttempts at its next failure, and its suspends, which count against " +
		"suspendSteps."
	huma.Register(operations, set, h.setSettings)
}

// getSettings answers GET /queues/{queue}/settings.
func (h *Handlers) getSettings(_ context.Context, in *settingsInput) (*settingsOutput, error) {
	q, prob := h.queue(in.Queue)
	if prob != nil {
		return nil, prob
	}
	return &settingsOutput{Body: newSettingsForm(in.Queue, q)}, nil
}

// setSettings answers POST /queues/{queue}/settings.
func (h *Handlers) setSettings(ctx context.Context, in *settingsChange) (*settingsOutput, error) {
	q, prob := h.queue(in.Queue)
	if prob != nil {
		return nil, prob
	}
	if prob := api.InWarehouse(auth.From(ctx), auth.AllWarehouses); prob != nil {
		return nil, prob
	}
	change, faults := parseSettings(&in.Body)
	if len(faults) > 0 {
		return nil, api.InvalidBody(faults)
	}
	order := orderOf(ctx, "queue.settings", queueObject(in.Queue), nil)
	if err := q.ChangeSettings(ctx, order, change); err != nil {
		return nil, h.queueFailed(ctx, in.Queue, "", err)
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "Settings of a queue were changed.", slog.String("queue", in.Queue), slog.Any("set", change.Set.Names()),
		slog.Any("reset", change.Reset), slog.String("by", order.By))
	return &settingsOutput{Body: newSettingsForm(in.Queue, q)}, nil
}

// parseSettings parses a change of settings. The queue checks the bounds.
func parseSettings(f *wire.SettingsAsk) (item.SettingsChange, []wire.Fault) {
	c := item.SettingsChange{Set: item.LiveSettings{MaxAttempts: f.MaxAttempts}, Reset: f.Reset}
	var faults []wire.Fault
	span := func(location, text string) time.Duration {
		d, err := api.ParseSpan(text)
		if err != nil {
			faults = append(faults, wire.Fault{Location: "body." + location, Message: err.Error()})
		}
		return d
	}
	if f.Lease != nil {
		c.Set.Lease = new(span("lease", *f.Lease))
	}
	if f.SuspendSteps != nil {
		c.Set.SuspendSteps = make([]time.Duration, len(f.SuspendSteps))
		for i, text := range f.SuspendSteps {
			c.Set.SuspendSteps[i] = span("suspendSteps["+strconv.Itoa(i)+"]", text)
		}
	}
	return c, faults
}

func newSettingsForm(name string, q *view.ServedQueue) wire.QueueSettingsForm {
	s := q.Settings()
	return wire.QueueSettingsForm{
		Queue: name, InForce: view.NewSettingsForm(q, s.InForce()), Configured: view.NewSettingsForm(q, s.Configured),
		Live: s.Live.Names(), By: s.Live.By, At: wire.Moment(s.Live.At),
	}
}
