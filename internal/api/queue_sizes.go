package api

import (
	"context"
	"encoding/xml"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/rules/strictyaml"
)

// QueueForm is how full a queue is.
type QueueForm struct {
	XMLName   xml.Name     `json:"-" xml:"queue"`
	Name      string       `json:"name" xml:"name"`
	Test      bool         `json:"test,omitempty" xml:"test,omitempty" doc:"this is the test twin"`
	Ready     int64        `json:"ready" xml:"ready" doc:"that any worker may take"`
	Assigned  int64        `json:"assigned" xml:"assigned" doc:"ready for one worker alone"`
	Leased    int64        `json:"leased" xml:"leased"`
	Delayed   int64        `json:"delayed" xml:"delayed"`
	Suspended int64        `json:"suspended" xml:"suspended"`
	Stored    int64        `json:"stored" xml:"stored"`
	Dead      int64        `json:"dead" xml:"dead"`
	Levels    []LevelForm  `json:"levels" xml:"levels>level" doc:"what is ready, by priority, in the order of service" nullable:"false"`
	Recent    MovedForm    `json:"recent" xml:"recent" doc:"what has moved of late, on all nodes together; begins anew when Redis has lost its data"`
	Paused    bool         `json:"paused" xml:"paused" doc:"nothing is leased until it is resumed"`
	PausedBy  string       `json:"pausedBy,omitempty" xml:"pausedBy,omitempty"`
	PausedAt  *time.Time   `json:"pausedAt,omitempty" xml:"pausedAt,omitempty"`
	Settings  SettingsForm `json:"settings" xml:"settings" doc:"of the configuration"`

	Warehouses []DepthForm `json:"warehouses" xml:"warehouses>warehouse" doc:"of which the figures above are the sums, by name" nullable:"false"`
}

// DepthForm is how much of a queue belongs to one warehouse.
type DepthForm struct {
	Warehouse string `json:"warehouse" xml:"name,attr" doc:"empty: what belongs to no warehouse"`
	Ready     int64  `json:"ready" xml:"ready"`
	Assigned  int64  `json:"assigned" xml:"assigned"`
	Leased    int64  `json:"leased" xml:"leased"`
	Delayed   int64  `json:"delayed" xml:"delayed"`
	Suspended int64  `json:"suspended" xml:"suspended"`
	Stored    int64  `json:"stored" xml:"stored"`
	Dead      int64  `json:"dead" xml:"dead"`
}

// MovedForm is what moved in a queue.
type MovedForm struct {
	Seconds float64 `json:"seconds" xml:"seconds,attr" doc:"that were counted: the last five minutes, and up to ten seconds more"`
	Pushed  int64   `json:"pushed" xml:"pushed" doc:"items that were taken in"`
	Done    int64   `json:"done" xml:"done" doc:"items that were acked or finished"`
	Failed  int64   `json:"failed" xml:"failed" doc:"attempts that were nacked, or whose leases ran out"`
	Dead    int64   `json:"dead" xml:"dead" doc:"items that died of such an attempt"`
}

// LevelForm is the ready part of one priority.
type LevelForm struct {
	Priority      int        `json:"priority" xml:"priority,attr"`
	Ready         int64      `json:"ready" xml:"ready"`
	Oldest        *time.Time `json:"oldest,omitempty" xml:"oldest,omitempty" doc:"when the first of them became ready, of the warehouse where that is longest ago"`
	OldestSeconds float64    `json:"oldestSeconds,omitempty" xml:"oldestSeconds,omitempty" doc:"how long ago that was"`
}

// SettingsForm is what the configuration says of a queue.
type SettingsForm struct {
	Timezone     string   `json:"timezone" xml:"timezone"`
	Lease        string   `json:"lease" xml:"lease"`
	MaxAttempts  int      `json:"maxAttempts" xml:"maxAttempts"`
	Dedupe       string   `json:"dedupe" xml:"dedupe" doc:"how long an item holds its dedupe key: until_done, day, or a duration"`
	SuspendSteps []string `json:"suspendSteps" xml:"suspendSteps>step" doc:"how long the first and the further suspends of an item last" nullable:"false"`
}

type (
	twinQuery struct {
		Test testFlag `query:"test" doc:"the test twins"`
	}
	queueInput struct {
		QueuePath
		Test testFlag `query:"test" doc:"the test twin"`
	}
	queuesOutput struct{ Body QueuesForm }
	queueOutput  struct{ Body QueueForm }
	pauseInput   struct {
		QueuePath
		Body *TwinForm
	}
)

// QueuePath names the queue of a request. The OpenAPI library looks into exported types alone.
type QueuePath struct {
	Queue string `path:"queue" doc:"the queue" example:"replenishment"`
}

// QueuesForm is every queue.
type QueuesForm struct {
	XMLName xml.Name    `json:"-" xml:"queues"`
	Queues  []QueueForm `json:"queues" xml:"queue" doc:"in the order of their names" nullable:"false"`
}

// TwinForm says whether the test twin is meant.
type TwinForm struct {
	Test bool `json:"test,omitempty" doc:"the test twin"`
}

func (a *API) registerSizes(operations huma.API) {
	huma.Register(operations, operation("list-queues", http.MethodGet, "/queues", "queues", "All queues, and how full they are, of the token's warehouses"), a.listQueues)
	huma.Register(operations, operation("get-queue", http.MethodGet, "/queues/{queue}", "queues", "How full a queue is, of the token's warehouses"), a.getQueue)
	pause := operation("pause-queue", http.MethodPost, "/queues/{queue}/pause", "queues", "Give out nothing more")
	pause.Description = "On every node and for all warehouses, at once: the token must be for all of them. What is leased goes on, and items are taken in. Survives a loss of Redis."
	huma.Register(operations, pause, a.pauseQueue)
	huma.Register(operations, operation("resume-queue", http.MethodPost, "/queues/{queue}/resume", "queues", "Give out items again"), a.resumeQueue)
}

// listQueues answers GET /queues.
func (a *API) listQueues(ctx context.Context, in *twinQuery) (*queuesOutput, error) {
	test, prob := in.Test.parse("test")
	if prob != nil {
		return nil, prob
	}
	out := &queuesOutput{Body: QueuesForm{Queues: []QueueForm{}}}
	for _, name := range slices.Sorted(maps.Keys(a.deps.Queues)) {
		q := a.deps.Queues[name]
		form, prob := a.sizes(ctx, &q, name, test)
		if prob != nil {
			return nil, prob
		}
		out.Body.Queues = append(out.Body.Queues, form)
	}
	return out, nil
}

// getQueue answers GET /queues/{queue}.
func (a *API) getQueue(ctx context.Context, in *queueInput) (*queueOutput, error) {
	q, test, prob := a.queueOrTwin(in.Queue, in.Test)
	if prob != nil {
		return nil, prob
	}
	return a.queueAnswer(ctx, q, in.Queue, test)
}

// pauseQueue answers POST /queues/{queue}/pause.
func (a *API) pauseQueue(ctx context.Context, in *pauseInput) (*queueOutput, error) {
	return a.switchQueue(ctx, in, "pause", Queue.Pause)
}

// resumeQueue answers POST /queues/{queue}/resume.
func (a *API) resumeQueue(ctx context.Context, in *pauseInput) (*queueOutput, error) {
	return a.switchQueue(ctx, in, "resume", Queue.Resume)
}

func (a *API) switchQueue(
	ctx context.Context, in *pauseInput, what string, change func(q Queue, ctx context.Context, test bool, by string, o *item.Order) error,
) (*queueOutput, error) {
	test := in.Body != nil && in.Body.Test
	q, by, prob := a.queueFor(ctx, in.Queue)
	if prob != nil {
		return nil, prob
	}
	if prob := inWarehouse(auth.From(ctx), auth.AllWarehouses); prob != nil {
		return nil, prob
	}
	if err := change(q.Queue, ctx, test, by, orderOf(ctx, "queue."+what, queueObject(in.Queue), nil)); err != nil {
		return nil, a.queueFailed(ctx, in.Queue, "", err)
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "a queue was switched", slog.String("to", what), slog.String("queue", in.Queue), slog.Bool("test", test), slog.String("by", by))
	return a.queueAnswer(ctx, q, in.Queue, test)
}

func (a *API) queueAnswer(ctx context.Context, q *ServedQueue, name string, test bool) (*queueOutput, error) {
	form, prob := a.sizes(ctx, q, name, test)
	if prob != nil {
		return nil, prob
	}
	return &queueOutput{Body: form}, nil
}

// sizes asks a queue how full it is.
func (a *API) sizes(ctx context.Context, q *ServedQueue, name string, test bool) (QueueForm, *Problem) {
	s, err := q.Sizes(ctx, test, scopeOf(auth.From(ctx)))
	if err != nil {
		return QueueForm{}, a.queueFailed(ctx, name, "", err)
	}
	return newQueueForm(name, test, &s, &q.Settings, time.Now()), nil
}

func newQueueForm(name string, test bool, s *item.Sizes, settings *QueueSettings, now time.Time) QueueForm {
	form := QueueForm{
		Name: name, Test: test, Ready: s.Ready, Assigned: s.Assigned, Leased: s.Leased, Delayed: s.Delayed, Suspended: s.Suspended,
		Stored: s.Stored, Dead: s.Dead, Levels: make([]LevelForm, len(s.Levels)), Paused: s.Pause.Paused, Settings: SettingsForm{
			Timezone: settings.Timezone, Lease: strictyaml.FormatDuration(settings.Lease), MaxAttempts: settings.MaxAttempts,
			Dedupe: settings.Dedupe, SuspendSteps: make([]string, len(settings.SuspendSteps)),
		},
		Recent: MovedForm{
			Seconds: s.Recent.Span.Round(time.Millisecond).Seconds(), Pushed: s.Recent.Pushed, Done: s.Recent.Done, Failed: s.Recent.Failed, Dead: s.Recent.Dead,
		},
	}
	for i, l := range s.Levels {
		form.Levels[i] = LevelForm{Priority: l.Priority, Ready: l.Ready, Oldest: timeOrNil(l.Oldest)}
		if !l.Oldest.IsZero() {
			form.Levels[i].OldestSeconds = max(now.Sub(l.Oldest).Round(time.Millisecond).Seconds(), 0)
		}
	}
	form.Warehouses = make([]DepthForm, len(s.Warehouses))
	for i := range s.Warehouses {
		d := &s.Warehouses[i]
		form.Warehouses[i] = DepthForm{
			Warehouse: d.Warehouse, Ready: d.Ready, Assigned: d.Assigned, Leased: d.Leased, Delayed: d.Delayed, Suspended: d.Suspended,
			Stored: d.Stored, Dead: d.Dead,
		}
	}
	slices.SortFunc(form.Warehouses, func(a, b DepthForm) int { return strings.Compare(a.Warehouse, b.Warehouse) })
	for i, d := range settings.SuspendSteps {
		form.Settings.SuspendSteps[i] = strictyaml.FormatDuration(d)
	}
	if s.Pause.Paused {
		form.PausedBy, form.PausedAt = s.Pause.By, timeOrNil(s.Pause.At)
	}
	return form
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
