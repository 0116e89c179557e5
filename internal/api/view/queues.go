package view

import (
	"context"
	"slices"
	"strings"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// Queue is a work queue with its test twin. Its errors are *item.InvalidError, delivery.ErrNotFound, and
// sinks.ErrUnavailable. A method returns sinks.ErrUnavailable after seconds at the latest. Other errors are faults of
// the storage.
type Queue interface { //nolint:interfacebloat // each is an operation of the API
	Push(ctx context.Context, test bool, by string, items []item.New) ([]item.PushResult, error)
	// Step returns promptly when its context ends. If the context ends while Step waits, Step returns the results of
	// the operations together with the context's error.
	Step(ctx context.Context, s item.Step) (item.Stepped, error)
	Sizes(ctx context.Context, test bool, scope item.Scope) (item.Sizes, error)
	List(ctx context.Context, q item.Query) (item.Page, error)
	Workers(ctx context.Context, test bool, scope item.Scope) ([]item.Worker, error)
	// Get and Rank return delivery.ErrNotFound for an unknown item. Only a ready item has a rank.
	Get(ctx context.Context, test bool, scope item.Scope, id string) (item.TracedItem, error)
	Rank(ctx context.Context, test bool, scope item.Scope, id string) (item.Rank, error)
	// RemoveRange removes the items of a state from one rank to another, both included and counted from 1. Leased items
	// stay.
	RemoveRange(ctx context.Context, b item.Bulk, state item.State, from, to int64) (removed int, err error)
	RequeueDead(ctx context.Context, b item.Bulk) (int, error)
	// Pause and Resume write an audit record. If the record cannot be written, they change nothing and return
	// ledger.ErrNotRecorded.
	Pause(ctx context.Context, test bool, by string, o *item.Order) error
	Resume(ctx context.Context, test bool, by string, o *item.Order) error
	Settings() item.QueueSettings
	// ChangeSettings writes an audit record as Pause does. For an invalid change it returns an *item.InvalidError.
	ChangeSettings(ctx context.Context, o *item.Order, c item.SettingsChange) error
}

// ServedQueue is a queue, with settings that only its configuration has.
type ServedQueue struct {
	Queue

	Timezone string
	Dedupe   string       // As in the configuration: until_done, day, or a duration.
	Events   *item.Events // nil = the queue's items cause no events.
}

// NewQueueForm converts the depth and the settings of a queue.
func NewQueueForm(name string, test bool, s *item.Sizes, q *ServedQueue, now time.Time) wire.QueueForm {
	settings := q.Settings()
	form := wire.QueueForm{
		Name: name, Test: test, Ready: s.Ready, Assigned: s.Assigned, Leased: s.Leased, Delayed: s.Delayed, Suspended: s.Suspended,
		Stored: s.Stored, Dead: s.Dead, DeadSince: wire.Moment(s.DeadSince), Levels: make([]wire.LevelForm, len(s.Levels)), Paused: s.Pause.Paused,
		Settings: NewSettingsForm(q, settings.InForce()),
		Recent: wire.MovedForm{
			Seconds: s.Recent.Span.Round(time.Millisecond).Seconds(), Pushed: s.Recent.Pushed, Done: s.Recent.Done, Failed: s.Recent.Failed, Dead: s.Recent.Dead,
		},
	}
	for i, l := range s.Levels {
		form.Levels[i] = wire.LevelForm{Priority: l.Priority, Ready: l.Ready, Oldest: wire.Moment(l.Oldest)}
		if !l.Oldest.IsZero() {
			form.Levels[i].OldestSeconds = max(now.Sub(l.Oldest).Round(time.Millisecond).Seconds(), 0)
		}
	}
	form.Warehouses = make([]wire.DepthForm, len(s.Warehouses))
	for i := range s.Warehouses {
		d := &s.Warehouses[i]
		form.Warehouses[i] = wire.DepthForm{
			Warehouse: d.Warehouse, Ready: d.Ready, Assigned: d.Assigned, Leased: d.Leased, Delayed: d.Delayed, Suspended: d.Suspended,
			Stored: d.Stored, Dead: d.Dead,
		}
	}
	slices.SortFunc(form.Warehouses, func(a, b wire.DepthForm) int { return strings.Compare(a.Warehouse, b.Warehouse) })
	if test {
		form.Settings.Events = nil
	}
	if s.Pause.Paused {
		form.PausedBy, form.PausedAt = s.Pause.By, wire.Moment(s.Pause.At)
	}
	return form
}

// NewSettingsForm converts live settings, and adds the settings that only the configuration has.
func NewSettingsForm(q *ServedQueue, s item.Settings) wire.SettingsForm {
	form := wire.SettingsForm{
		Timezone: q.Timezone, Lease: strictyaml.FormatDuration(s.Lease), MaxAttempts: s.MaxAttempts, Dedupe: q.Dedupe,
		SuspendSteps: make([]string, len(s.SuspendSteps)),
	}
	for i, d := range s.SuspendSteps {
		form.SuspendSteps[i] = strictyaml.FormatDuration(d)
	}
	if q.Events != nil {
		form.Events = &wire.ItemEventsForm{Sink: q.Events.Sink}
		for _, event := range q.Events.On {
			form.Events.On = append(form.Events.On, string(event))
		}
	}
	return form
}

// ScopeOf returns the warehouses whose items the caller sees. Only a caller who sees all warehouses sees items without
// a warehouse.
func ScopeOf(who *auth.Identity) item.Scope {
	if who.Everywhere() {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(append([]string{}, who.Warehouses...))))
}
