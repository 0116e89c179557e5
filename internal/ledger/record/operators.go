package record

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules/strictyaml"
)

// Switch is a switch in a record, in the form of the API. A cleared switch has its state, too.
type Switch struct {
	Rule   string     `json:"rule"`
	Scope  string     `json:"scope"`
	State  string     `json:"state"` // enabled, disabled, cleared
	Until  *time.Time `json:"until,omitempty"`
	Reason string     `json:"reason,omitempty"`
	By     string     `json:"by"`
	At     time.Time  `json:"at"`
}

// SwitchStates returns the states of switches by their names in records.
func SwitchStates() map[string]ledger.SwitchState {
	return map[string]ledger.SwitchState{"cleared": ledger.SwitchCleared, "enabled": ledger.SwitchOn, "disabled": ledger.SwitchOff}
}

func newSwitch(s *ledger.Switch) Switch {
	out := Switch{Rule: s.Rule, Scope: s.Scope, Until: moment(s.Until), Reason: s.Reason, By: s.By, At: micros(s.At)}
	for name, state := range SwitchStates() {
		if state == s.State {
			out.State = name
		}
	}
	return out
}

// SwitchSet is the record of a switch that was set or cleared.
func SwitchSet(before, after *ledger.Switch) *ledger.Change {
	c := &ledger.Change{Object: rule(after.Rule, after.Scope), After: state(newSwitch(after)), Reason: after.Reason}
	actions := map[ledger.SwitchState]string{ledger.SwitchOn: "rule.enable", ledger.SwitchOff: "rule.disable", ledger.SwitchCleared: "rule.clear"}
	if after.Rule == ledger.Every {
		c.Object = "rules"
		actions = map[ledger.SwitchState]string{ledger.SwitchOn: "rules.enable", ledger.SwitchOff: "rules.pause", ledger.SwitchCleared: "rules.resume"}
	}
	c.Action = actions[after.State]
	if before != nil {
		c.Before = state(newSwitch(before))
	}
	return c
}

// rule returns the object of a record about a rule in a scope.
func rule(id, scope string) string {
	if scope == "" || scope == ledger.Every {
		return "rule:" + id
	}
	return "rule:" + id + ":" + scope
}

// Promotion is a rule that is live although its file has it in shadow.
type Promotion struct {
	Rule     string    `json:"rule"`
	Scope    string    `json:"scope"`
	Promoted time.Time `json:"promoted"`
	By       string    `json:"by"`
}

// Promoted is the record of a promotion.
func Promoted(p *ledger.Promotion) *ledger.Change {
	return &ledger.Change{Action: "rule.promote", Object: rule(p.Rule, p.Scope), After: state(Promotion{p.Rule, p.Scope, micros(p.At), p.By})}
}

// Demoted is the record of a promotion that an operator took back.
func Demoted(p *ledger.Promotion) *ledger.Change {
	return &ledger.Change{Action: "rule.demote", Object: rule(p.Rule, p.Scope), Before: state(Promotion{p.Rule, p.Scope, micros(p.At), p.By})}
}

// RulesTaken is the record of a version of the rule files that replaces another one; before "" = none.
func RulesTaken(before string, after *ledger.RulesVersion) *ledger.Change {
	c := &ledger.Change{Action: "rules.reload", Object: "rules", After: state(after)}
	if before != "" {
		c.Before = state(map[string]string{"version": before})
	}
	return c
}

// Silence is a silence in a record, as the API has it.
type Silence struct {
	ID        string        `json:"id"`
	State     silence.State `json:"state"`
	Matchers  []string      `json:"matchers"`
	From      time.Time     `json:"from"`
	Until     *time.Time    `json:"until,omitempty"`
	Window    *Window       `json:"window,omitempty"`
	Comment   string        `json:"comment,omitempty"`
	Author    string        `json:"author"`
	CreatedAt time.Time     `json:"createdAt"`
	EndedAt   *time.Time    `json:"endedAt,omitempty"`
	EndedBy   string        `json:"endedBy,omitempty"`
}

// Window is when a maintenance window is open.
type Window struct {
	Cron     string `json:"cron"`
	Timezone string `json:"timezone,omitempty"`
	Duration string `json:"duration"`
}

// newSilence returns the silence in its state at a time.
func newSilence(s *silence.Silence, at time.Time) Silence {
	out := Silence{
		ID: s.ID, State: s.State(at), Matchers: make([]string, len(s.Matchers)), From: micros(s.From), Until: moment(s.Until), Comment: s.Comment,
		Author: s.Author, CreatedAt: micros(s.Created), EndedAt: moment(s.Ended), EndedBy: s.EndedBy,
	}
	for i, m := range s.Matchers {
		out.Matchers[i] = m.String()
	}
	if w := s.Window; w != nil {
		out.Window = &Window{w.Cron, w.Timezone, strictyaml.FormatDuration(w.Duration)}
	}
	return out
}

// SilenceAdded is the record of a silence that was added.
func SilenceAdded(s *silence.Silence) *ledger.Change {
	return &ledger.Change{Action: "silence.add", Object: "silence:" + s.ID, After: state(newSilence(s, s.Created)), Reason: s.Comment}
}

// SilenceEnded is the record of the end of a silence. by is the author of the end, and at is its time.
func SilenceEnded(before *silence.Silence, by string, at time.Time) *ledger.Change {
	after := *before
	after.Ended, after.EndedBy = at, by
	return &ledger.Change{Action: "silence.expire", Object: "silence:" + before.ID, Before: state(newSilence(before, at)), After: state(newSilence(&after, at))}
}

// Token is an API token in a record, as the API has it: without its secret and hash.
type Token struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Subject     string     `json:"subject"`
	Access      []string   `json:"access"`
	Subscribers []string   `json:"subscribers,omitempty"`
	Warehouses  []string   `json:"warehouses"`
	State       string     `json:"state"` // live, expired, revoked
	Created     time.Time  `json:"created"`
	CreatedBy   string     `json:"createdBy"`
	Expires     *time.Time `json:"expires,omitempty"`
	Used        *time.Time `json:"used,omitempty"`
	Revoked     *time.Time `json:"revoked,omitempty"`
	RevokedBy   string     `json:"revokedBy,omitempty"`
}

// newToken returns the token in its state at a time.
func newToken(t *ledger.Token, at time.Time) Token {
	out := Token{
		ID: t.ID, Name: t.Name, Subject: t.Subject, Access: t.Access, Subscribers: t.Subscribers, Warehouses: t.Warehouses, State: "live",
		Created: micros(t.Created), CreatedBy: t.CreatedBy, Expires: moment(t.Expires), Used: moment(t.Used), Revoked: moment(t.Revoked), RevokedBy: t.RevokedBy,
	}
	switch {
	case !t.Revoked.IsZero():
		out.State = "revoked"
	case !t.Expires.IsZero() && !t.Expires.After(at):
		out.State = "expired"
	}
	return out
}

// TokenAdded is the record of a token that was created.
func TokenAdded(t *ledger.Token) *ledger.Change {
	return &ledger.Change{Action: "token.create", Object: "token:" + t.ID, After: state(newToken(t, t.Created))}
}

// TokenRevoked is the record of a revoked token. by is the author of the revocation, and at is its time.
func TokenRevoked(before *ledger.Token, by string, at time.Time) *ledger.Change {
	after := *before
	after.Revoked, after.RevokedBy = at, by
	return &ledger.Change{Action: "token.revoke", Object: "token:" + before.ID, Before: state(newToken(before, at)), After: state(newToken(&after, at))}
}

// Deliveries are deliveries that were changed together, with their states.
type Deliveries struct {
	Changed int                `json:"changed,omitempty"`
	IDs     map[string][]int64 `json:"ids"`
}

// Delivery is the state of one delivery.
type Delivery struct {
	ID    int64  `json:"id"`
	State string `json:"state"`
}

// DeliveryStates has the states of deliveries before a change, by their numbers.
type DeliveryStates map[int64]ledger.DeliveryState

// DeliveriesRetried is the record of deliveries that are pending again, or due at once; nil for none.
func DeliveriesRetried(before DeliveryStates, changed []int64) *ledger.Change {
	return deliveries("delivery.retry", before, changed, ledger.DeliveryPending)
}

// DeliveriesCanceled is the record of pending deliveries that were canceled; nil for none.
func DeliveriesCanceled(changed []int64, reason string) *ledger.Change {
	c := deliveries("delivery.cancel", nil, changed, ledger.DeliveryCanceled)
	if c != nil {
		c.Reason = reason
	}
	return c
}

// deliveries is the record of a change after which all deliveries have the same state. A delivery that is not in
// before was pending.
func deliveries(action string, before DeliveryStates, changed []int64, after ledger.DeliveryState) *ledger.Change {
	switch len(changed) {
	case 0:
		return nil
	case 1:
		id := changed[0]
		return &ledger.Change{
			Action: action, Object: "delivery:" + strconv.FormatInt(id, 10),
			Before: state(Delivery{id, before[id].String()}), After: state(Delivery{id, after.String()}),
		}
	}
	old := map[string][]int64{}
	for _, id := range changed {
		name := before[id].String()
		old[name] = append(old[name], id)
	}
	return &ledger.Change{
		Action: action, Object: "deliveries", Before: state(Deliveries{IDs: old}),
		After: state(Deliveries{Changed: len(changed), IDs: map[string][]int64{after.String(): changed}}),
	}
}

// moment returns the time for an optional field; nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = micros(t)
	return &t
}

// micros returns the time as the ledger keeps it.
func micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// state encodes the forms of this package, which cannot fail. state does not escape texts: <é> stays readable.
func state(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("record: " + err.Error())
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// QueueOrder is what an order has changed in a queue.
type QueueOrder struct {
	At    time.Time       `json:"at"` // when the order was carried out, which may be before it was recorded
	Asked json.RawMessage `json:"asked,omitempty"`
	Done  json.RawMessage `json:"done,omitempty"`
}

// QueueChanges returns the records of orders that changed something in a queue, with their authors.
func QueueChanges(orders []*item.Change) []*ledger.Change {
	list := make([]*ledger.Change, len(orders))
	for i, o := range orders {
		list[i] = &ledger.Change{
			By: o.By, Via: ledger.Via(o.Via), Action: o.Action, Object: o.Object, Reason: o.Reason,
			After: state(QueueOrder{micros(o.At), o.Asked, o.Done}),
		}
	}
	return list
}

// Restore is what a node found after the ledger was restored, for one sink.
type Restore struct {
	Epoch    string `json:"epoch"` // the epoch that Redis had
	Cause    string `json:"cause"`
	Withheld int    `json:"withheld,omitempty"`
	Dropped  int    `json:"dropped,omitempty"`
}

// Restored is the record of an index in Redis that knew more than its ledger.
func Restored(r *ledger.Restore) *ledger.Change {
	return &ledger.Change{Action: "ledger.restored", Object: "sink:" + r.Sink, After: state(Restore{r.Epoch, r.Cause, r.Withheld, r.Dropped})}
}

// QueuePause says in a record whether a queue gives out items.
type QueuePause struct {
	Paused bool      `json:"paused"`
	Test   bool      `json:"test,omitempty"` // The pause applies to the test twin.
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at"`
}

// QueuePaused is the record of a queue that was paused or resumed. For the first pause of a queue there is no state
// before.
func QueuePaused(queue string, before, after item.Pause) *ledger.Change {
	name, test := strings.CutSuffix(queue, ledger.TestTwin)
	form := func(p item.Pause) QueuePause { return QueuePause{p.Paused, test, p.By, micros(p.At)} }
	c := &ledger.Change{Action: "queue.resume", Object: "queue:" + name, After: state(form(after))}
	if after.Paused {
		c.Action = "queue.pause"
	}
	if !before.At.IsZero() {
		c.Before = state(form(before))
	}
	return c
}
