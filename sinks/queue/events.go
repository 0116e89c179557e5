package queue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/settings"
	"tallyman/rules/deliver"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
)

// Events are the settings that choose the item events that a push channel delivers, and how.
type Events struct {
	Sink     string        `yaml:"sink,required" doc:"a push channel; not mail, and not a channel with each"`
	On       []string      `yaml:"on,required" enum:"ready_again,assigned,dead,done,removed" doc:"the events"`
	Strategy string        `yaml:"strategy" enum:"immediate,delayed,important,timed" doc:"as in deliver of a rule; immediate where nothing is said"`
	Within   time.Duration `yaml:"within" min:"1s" max:"30d" doc:"timed: how long an event is tried"`
	Delay    time.Duration `yaml:"delay" max:"366d" doc:"delayed: how long an event waits before the first attempt"`
	Retry    int           `yaml:"retry" min:"0" max:"100" doc:"delayed: how many more attempts follow a first attempt with a transient error"`
	Until    string        `yaml:"until" enum:"sent" doc:"important: sent tries on after 72h, until the channel takes the event or an operator cancels"`
}

// entry returns these settings as a deliver entry of a rule, which has the same checks.
func (e *Events) entry() deliver.Entry {
	return deliver.Entry{
		Sink: e.Sink, Strategy: deliver.StrategyOf(e.Strategy), Within: e.Within, Delay: e.Delay, Retry: e.Retry, Until: deliver.Until(e.Until),
	}
}

// Check implements strictyaml.Checker.
func (e *Events) Check(at settings.Section) {
	on := at.In("on")
	if len(e.On) == 0 {
		on.Fail(strictyaml.CodeMissing, on.String()+" names no event", "name some, or remove events")
	}
	for i, event := range e.On {
		if slices.Contains(e.On[:i], event) {
			at.Item("on", i).Fail(deliver.CodeDuplicateName, fmt.Sprintf("%s names %s twice", on, event), "remove one")
		}
	}
	entry := e.entry()
	has := func(field string) bool { return at.In(field).Path() != "" }
	failAll(at, entry.Faults(has, false))
}

func failAll(at settings.Section, faults []deliver.Fault) {
	for _, f := range faults {
		field := at.In(strings.TrimPrefix(f.Field, deliver.Field(0, "")))
		field.Fail(f.Code, field.String()+": "+f.Message, f.Hint)
	}
}

// CheckSinks implements sinks.Referrer.
func (s *Settings) CheckSinks(at settings.Section, site map[string]sinks.Settings) {
	if s.Events == nil {
		return
	}
	at = at.In("events")
	types, channels := map[string]string{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(site)) {
		types[name] = site[name].TypeName()
		if isToldOfEvents(site[name]) {
			channels = append(channels, name)
		}
	}
	known := deliver.Sinks{Types: types}
	found := known.Check([]deliver.Entry{s.Events.entry()}, deliver.Life{Span: item.EventLife, Text: strictyaml.FormatDuration(item.EventLife)})
	failAll(at, found)
	if named, ok := site[s.Events.Sink]; len(found) == 0 && ok && !isToldOfEvents(named) {
		why := "is of type " + named.TypeName() + ", which is no push channel"
		if named.Kind() == sinks.PushKind {
			why = "makes a delivery for each subscriber, and none where there is no subscriber"
		}
		hint := "sinks that can get events: " + cmp.Or(strings.Join(channels, ", "), "none; a webhook without each is one")
		at.In("sink").Fail(CodeEvents, fmt.Sprintf("%s: the sink %s %s", at.In("sink"), s.Events.Sink, why), hint)
	}
}

func isToldOfEvents(s sinks.Settings) bool {
	channel, ok := s.(sinks.ChannelSettings)
	return ok && !channel.IsEach()
}

// Told returns the settings as the ledger takes them. Nil means that no event is delivered.
func (e *Events) Told() *item.Events {
	if e == nil {
		return nil
	}
	entry := e.entry()
	out := &item.Events{Sink: e.Sink, Strategy: delivery.Strategy{
		Kind: delivery.StrategyKind(entry.Strategy.String()), Delay: e.Delay, Within: e.Within, Retry: e.Retry, Until: delivery.Until(e.Until),
	}}
	for _, event := range e.On {
		out.On = append(out.On, item.Event(event))
	}
	return out
}

// events returns the events of the queue. The twin has none.
func (l *queueLine) events() *item.Events {
	if l.test {
		return nil
	}
	return l.o.Events
}

// toldBytes replaces drainBytes for a queue with events. A move has about 70 bytes, but the ledger may need the payload
// of its item, too.
const toldBytes = 64 << 10

// pageBytes returns about how many bytes of moves one transaction of the ledger takes.
func (l *queueLine) pageBytes() int {
	if l.events() != nil {
		return toldBytes
	}
	return drainBytes
}

// RemoveGone removes the item of an event after the receiver has answered 410 (Gone). It removes a leased item, too. If
// the item has ended, or has begun another life after the event, nothing changes and removed is false.
//
// The call waits until the ledger has all moves. The errors are recovery.ErrUnavailable, the ledger's and the
// context's.
func (q *Queue) RemoveGone(ctx context.Context, told *item.Told, by, note string) (removed bool, err error) {
	l := q.line(false)
	answer, epoch, err := q.read(ctx, l, q.reads.get, told.ID)
	if err != nil || answer[2] == "" {
		return false, err
	}
	if err := l.awaitRead(ctx, epoch, answer); err != nil {
		return false, err
	}
	record, trace, err := l.o.Ledger.ItemTrace(ctx, l.name, told.ID)
	if err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	if slices.ContainsFunc(trace, func(m item.Move) bool { return m.N > told.N && m.From.Ended() }) {
		return false, nil
	}
	done, err := q.Step(ctx, item.Step{By: by, Ops: []item.Op{{Kind: item.Remove, ID: told.ID, Force: true, Note: note, Seq: record.Seq}}})
	return err == nil && done.Results[0].Outcome == item.OK, err
}
