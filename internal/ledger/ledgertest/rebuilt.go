package ledgertest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/silence"
	"tallyman/rules/catalog"
	"tallyman/rules/scopelist"
	"tallyman/rules/strictyaml"
)

// settings are the data of a ledger that can be rebuilt from its records alone. The records lack the hash and the
// last use of tokens, and the events of silences.
type settings struct {
	Types         catalog.Catalog
	Subscriptions map[ledger.Subscription]bool
	Subscribers   map[string]delivery.Subscriber
	Scopes        map[string]map[string]scopelist.Scope // scopes of rules, by name
	Switches      map[[2]string]ledger.Switch
	Silences      map[string]silenceText
	Tokens        map[string]ledger.Token
	Promotions    map[[2]string]ledger.Promotion
	QueueSettings item.LiveSettings // of the queue ordered
	RuleVersions  int64
}

// CheckAudit returns an error where the records of a ledger, applied to an empty state, give other settings than the
// ledger has. All records must have been written by methods of the ledger.
func CheckAudit(ctx context.Context, l ledger.Ledger) error {
	want, err := settingsOf(ctx, l)
	if err != nil {
		return err
	}
	list, err := records(ctx, l)
	if err != nil {
		return err
	}
	got, err := rebuilt(list)
	if err != nil {
		return err
	}
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		return fmt.Errorf("the records make other settings (-ledger +records):\n%s", diff)
	}
	return nil
}

// records returns all records, the first one first.
func records(ctx context.Context, l ledger.Ledger) ([]ledger.Change, error) {
	var all []ledger.Change
	f := ledger.ChangeFilter{Limit: 1000}
	for {
		list, more, err := l.Changes(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if !more {
			slices.Reverse(all)
			return all, nil
		}
		f.Before = list[len(list)-1].Seq
	}
}

// settingsOf returns the settings that the ledger has.
func settingsOf(ctx context.Context, l ledger.Ledger) (settings, error) {
	s := newSettings()
	types, typesErr := l.Types(ctx)
	subs, subsErr := l.Subscriptions(ctx, ledger.SubscriptionFilter{})
	scopes, scopesErr := l.ScopeLists(ctx)
	book, bookErr := l.ListSubscribers(ctx, "", 10_000)
	switches, switchesErr := l.Switches(ctx)
	silences, silencesErr := l.Silences(ctx)
	tokens, tokensErr := l.ListTokens(ctx)
	promotions, promotionsErr := l.Promotions(ctx)
	numbers, numbersErr := l.Numbers(ctx)
	var liveErr error
	s.QueueSettings, liveErr = l.QueueSettings(ctx, ordered)
	maps.Copy(s.Types, types)
	for _, one := range subs {
		s.Subscriptions[one] = true
	}
	for _, one := range book {
		s.Subscribers[one.ID] = one
	}
	for rule, list := range scopes {
		s.listScopes(rule, list)
	}
	for _, one := range switches {
		s.Switches[[2]string{one.Rule, one.Scope}] = one
	}
	for i := range silences {
		text := textOf(&silences[i])
		text.Events = 0
		s.Silences[text.ID] = text
	}
	for _, one := range tokens {
		one.Hash, one.Used = nil, time.Time{}
		s.Tokens[one.ID] = one
	}
	for _, one := range promotions {
		s.Promotions[[2]string{one.Rule, one.Scope}] = one
	}
	s.RuleVersions = numbers["rules"]
	return s, errors.Join(typesErr, subsErr, scopesErr, bookErr, switchesErr, silencesErr, tokensErr, promotionsErr, numbersErr, liveErr)
}

func newSettings() settings {
	return settings{
		Types: catalog.Catalog{}, Subscriptions: map[ledger.Subscription]bool{}, Subscribers: map[string]delivery.Subscriber{},
		Scopes: map[string]map[string]scopelist.Scope{}, Switches: map[[2]string]ledger.Switch{}, Silences: map[string]silenceText{}, Tokens: map[string]ledger.Token{},
		Promotions: map[[2]string]ledger.Promotion{},
	}
}

// listScopes adds or replaces scopes of the rule.
func (s *settings) listScopes(rule string, list scopelist.List) {
	if s.Scopes[rule] == nil {
		s.Scopes[rule] = map[string]scopelist.Scope{}
	}
	for _, one := range list {
		s.Scopes[rule][one.Name] = one
	}
}

// rebuilt applies records to an empty state.
func rebuilt(list []ledger.Change) (settings, error) {
	s := newSettings()
	for i := range list {
		if err := s.apply(&list[i]); err != nil {
			return s, fmt.Errorf("record %d, %s of %s: %w", list[i].Seq, list[i].Action, list[i].Object, err)
		}
	}
	return s, nil
}

// apply makes the change of a record, using only the states in the record.
func (s *settings) apply(c *ledger.Change) error {
	state := c.After
	if state == nil {
		state = c.Before
	}
	switch c.Action {
	case "type.create", "type.put":
		return decoded(state, s.putType)
	case "type.seed":
		return decoded(state, func(seed record.Types) error {
			for _, t := range seed.Types {
				if err := s.putType(t); err != nil {
					return err
				}
			}
			return nil
		})
	case "type.delete":
		return decoded(state, func(t record.Type) error {
			delete(s.Types, t.Code)
			maps.DeleteFunc(s.Subscriptions, func(sub ledger.Subscription, _ bool) bool { return sub.Type == t.Code })
			return nil
		})
	case "subscription.add":
		return decoded(state, func(sub ledger.Subscription) error { s.Subscriptions[sub] = true; return nil })
	case "subscription.import", "subscription.seed":
		return decoded(state, func(added record.Subscriptions) error {
			for _, sub := range added.Subscriptions {
				s.Subscriptions[sub] = true
			}
			return nil
		})
	case "subscription.remove":
		return decoded(state, func(sub ledger.Subscription) error { delete(s.Subscriptions, sub); return nil })
	case "subscription.sync", "subscription.confirm":
		return decoded(state, func(c record.SubscriptionChange) error {
			for _, sub := range c.Removed {
				delete(s.Subscriptions, sub)
			}
			for _, sub := range c.Added {
				s.Subscriptions[sub] = true
			}
			return nil
		})
	case "subscription.release":
		return decoded(state, func(r record.Released) error {
			for sub := range maps.Clone(s.Subscriptions) {
				if sub.Origin == r.Origin {
					delete(s.Subscriptions, sub)
					sub.Origin = ""
					s.Subscriptions[sub] = true
				}
			}
			return nil
		})
	case "scopes.sync", "scopes.confirm":
		return decoded(state, func(c record.ScopeChange) error {
			for _, one := range c.Removed.First {
				delete(s.Scopes[c.Rule], one.Name)
			}
			s.listScopes(c.Rule, slices.Concat(c.Added.First, c.Changed.First))
			return nil
		})
	case "scopes.forget":
		return decoded(state, func(left record.ScopesLeft) error { delete(s.Scopes, left.Rule); return nil })
	case "subscriber.put":
		return decoded(state, func(one record.Subscriber) error { s.Subscribers[one.ID] = delivery.Subscriber(one); return nil })
	case "subscriber.delete":
		return decoded(state, func(one record.Subscriber) error { delete(s.Subscribers, one.ID); return nil })
	case "rule.enable", "rule.disable", "rule.clear", "rules.pause", "rules.resume":
		return decoded(state, func(w record.Switch) error {
			s.Switches[[2]string{w.Rule, w.Scope}] = ledger.Switch{
				Rule: w.Rule, Scope: w.Scope, State: record.SwitchStates()[w.State], Until: timeOf(w.Until), At: w.At, Reason: w.Reason, By: w.By,
			}
			return nil
		})
	case "rule.promote":
		return decoded(state, func(p record.Promotion) error {
			s.Promotions[[2]string{p.Rule, p.Scope}] = ledger.Promotion{Rule: p.Rule, Scope: p.Scope, At: p.Promoted, By: p.By}
			return nil
		})
	case "rule.demote":
		return decoded(state, func(p record.Promotion) error { delete(s.Promotions, [2]string{p.Rule, p.Scope}); return nil })
	case "silence.add", "silence.expire":
		return decoded(state, s.putSilence)
	case "token.create", "token.revoke":
		return decoded(state, func(t record.Token) error {
			s.Tokens[t.ID] = ledger.Token{
				ID: t.ID, Name: t.Name, Subject: t.Subject, Access: t.Access, Subscribers: t.Subscribers, Warehouses: t.Warehouses, Created: t.Created,
				CreatedBy: t.CreatedBy, Expires: timeOf(t.Expires), Revoked: timeOf(t.Revoked), RevokedBy: t.RevokedBy,
			}
			return nil
		})
	case "queue.settings":
		return decoded(state, s.putQueueSettings)
	case "rules.reload":
		s.RuleVersions++
	case "delivery.retry", "delivery.cancel", "rule.run", "rule.rewind", "queue.pause", "queue.resume", "item.remove", "ledger.restored",
		"clock.term", "clock.withhold", "clock.confirm": // these change nothing in settings
	default:
		return errors.New("no rule for applying this action")
	}
	return nil
}

func (s *settings) putType(t record.Type) error {
	retention, err := strictyaml.ParseDuration(t.Retention)
	out := catalog.Type{Code: t.Code, ID: t.ID, Name: t.Name, Names: t.Names, Category: t.Category, Retention: retention, Fields: map[string]catalog.Field{}, Defaults: t.Defaults}
	for name, f := range t.Fields {
		out.Fields[name] = catalog.Field{Type: catalog.FieldKind(f.Type), Required: f.Required}
	}
	s.Types[t.Code] = out
	return err
}

func (s *settings) putQueueSettings(one record.QueueSettings) error {
	out := item.LiveSettings{MaxAttempts: one.MaxAttempts, By: one.By, At: one.At}
	var errs []error
	parse := func(text string) time.Duration {
		d, err := strictyaml.ParseDuration(text)
		errs = append(errs, err)
		return d
	}
	if one.Lease != "" {
		out.Lease = new(parse(one.Lease))
	}
	if one.SuspendSteps != nil {
		out.SuspendSteps = []time.Duration{}
		for _, text := range *one.SuspendSteps {
			out.SuspendSteps = append(out.SuspendSteps, parse(text))
		}
	}
	s.QueueSettings = out
	return errors.Join(errs...)
}

func (s *settings) putSilence(one record.Silence) error {
	out := silence.Silence{
		ID: one.ID, From: one.From, Until: timeOf(one.Until), Comment: one.Comment, Author: one.Author, Created: one.CreatedAt,
		Ended: timeOf(one.EndedAt), EndedBy: one.EndedBy,
	}
	for _, text := range one.Matchers {
		m, err := silence.ParseMatcher(text)
		if err != nil {
			return err
		}
		out.Matchers = append(out.Matchers, m)
	}
	if w := one.Window; w != nil {
		open, err := strictyaml.ParseDuration(w.Duration)
		if err != nil {
			return err
		}
		if out.Window, err = silence.NewWindow(w.Cron, w.Timezone, open); err != nil {
			return err
		}
	}
	s.Silences[one.ID] = textOf(&out)
	return nil
}

// decoded decodes a state strictly, without unknown fields, and applies it.
func decoded[T any](state json.RawMessage, apply func(T) error) error {
	var v T
	d := json.NewDecoder(strings.NewReader(string(state)))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("decode %s: %w", state, err)
	}
	return apply(v)
}

func timeOf(t *time.Time) time.Time { return *cmp.Or(t, &time.Time{}) }
