package record

import (
	"encoding/json"
	"strings"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
	"tallyman/rules/strictyaml"
)

// Type is a type in a record, as the API has it.
type Type struct {
	Code      string               `json:"code"`
	ID        int64                `json:"id"`
	Name      string               `json:"name"`
	Names     map[string]string    `json:"names,omitempty"`
	Category  string               `json:"category,omitempty"`
	Retention string               `json:"retention"`
	Fields    map[string]TypeField `json:"fields,omitempty"`
	catalog.Defaults
}

// TypeField is a field of a type.
type TypeField struct {
	Type     string `json:"type"`
	Required bool   `json:"required,omitempty"`
}

// Types are the types that a seed has added.
type Types struct {
	Added int    `json:"added"`
	Types []Type `json:"types"`
}

func newType(t *catalog.Type) Type {
	out := Type{Code: t.Code, ID: t.ID, Name: t.Name, Names: t.Names, Category: t.Category, Retention: strictyaml.FormatDuration(t.Retention), Defaults: t.Defaults}
	if len(t.Fields) > 0 {
		out.Fields = make(map[string]TypeField, len(t.Fields))
		for name, f := range t.Fields {
			out.Fields[name] = TypeField{string(f.Type), f.Required}
		}
	}
	return out
}

// TypePut is the record of a type that was created or replaced; before is nil for a created one.
func TypePut(before, after *catalog.Type) *ledger.Change {
	c := &ledger.Change{Action: "type.create", Object: "type:" + after.Code, After: state(newType(after))}
	if before != nil {
		c.Action, c.Before = "type.put", state(newType(before))
	}
	return c
}

// TypeDeleted is the record of a type that was deleted together with its subscriptions.
func TypeDeleted(t *catalog.Type) *ledger.Change {
	return &ledger.Change{Action: "type.delete", Object: "type:" + t.Code, Before: state(newType(t))}
}

// TypesSeeded is the record of the types that a seed has added; nil for none.
func TypesSeeded(added []catalog.Type) *ledger.Change {
	if len(added) == 0 {
		return nil
	}
	list := make([]Type, len(added))
	for i := range added {
		list[i] = newType(&added[i])
	}
	return &ledger.Change{Action: "type.seed", Object: "types", After: state(Types{len(list), list})}
}

// Subscriptions are subscriptions that were added together.
type Subscriptions struct {
	Added         int                   `json:"added"`
	Present       int                   `json:"present"` // requested subscriptions that existed before
	Subscriptions []ledger.Subscription `json:"subscriptions"`
}

// SubscriptionsAdded is the record of subscriptions that were added; nil for none. asked are all requested ones.
func SubscriptionsAdded(asked, added []ledger.Subscription) *ledger.Change {
	if len(added) == 0 {
		return nil
	}
	if len(asked) == 1 {
		return &ledger.Change{Action: "subscription.add", Object: subscription(added[0]), After: state(added[0])}
	}
	return &ledger.Change{Action: "subscription.import", Object: "subscriptions", After: subscriptions(asked, added)}
}

// SubscriptionsSeeded is the record of the subscriptions that a seed has added; nil for none.
func SubscriptionsSeeded(asked, added []ledger.Subscription) *ledger.Change {
	if len(added) == 0 {
		return nil
	}
	return &ledger.Change{Action: "subscription.seed", Object: "subscriptions", After: subscriptions(asked, added)}
}

func subscriptions(asked, added []ledger.Subscription) json.RawMessage {
	distinct := make(map[ledger.Subscription]bool, len(asked))
	for _, s := range asked {
		distinct[s] = true
	}
	return state(Subscriptions{len(added), len(distinct) - len(added), added})
}

// SubscriptionRemoved is the record of a removed subscription.
func SubscriptionRemoved(s ledger.Subscription) *ledger.Change {
	return &ledger.Change{Action: "subscription.remove", Object: subscription(s), Before: state(s)}
}

// SubscriptionChange is what a list from a source has changed; see ledger.SubscriptionSyncer.
type SubscriptionChange struct {
	Origin  string                `json:"origin"`
	Added   []ledger.Subscription `json:"added,omitempty"`
	Removed []ledger.Subscription `json:"removed,omitempty"`
}

// SubscriptionsTaken is the record of a list from a source that a node has put in force, or an operator has confirmed.
// SubscriptionsTaken is nil where nothing changed and nobody confirmed the list.
func SubscriptionsTaken(origin string, c *ledger.OriginChange, confirmed bool) *ledger.Change {
	action := "subscription.sync"
	switch {
	case confirmed:
		action = "subscription.confirm"
	case len(c.Added)+len(c.Removed) == 0:
		return nil
	}
	return &ledger.Change{Action: action, Object: "subscriptions:" + origin, After: state(SubscriptionChange{origin, c.Added, c.Removed})}
}

// Released counts the subscriptions of a source that an operator has released.
type Released struct {
	Origin   string `json:"origin"`
	Released int    `json:"released"`
}

// SubscriptionsReleased is the record of subscriptions that no longer come from a source.
func SubscriptionsReleased(origin string, released int) *ledger.Change {
	return &ledger.Change{Action: "subscription.release", Object: "subscriptions:" + origin, After: state(Released{origin, released})}
}

func subscription(s ledger.Subscription) string {
	return strings.Join([]string{"subscription", s.Type, s.Warehouse, s.Subscriber}, ":")
}

// Subscriber is an entry of the address book in a record.
type Subscriber struct {
	ID       string            `json:"id"`
	Name     string            `json:"name,omitempty"`
	Language string            `json:"language,omitempty"`
	Mail     []string          `json:"mail,omitempty"`
	Phone    string            `json:"phone,omitempty"`
	Alias    string            `json:"alias,omitempty"`
	Tags     []string          `json:"tags,omitempty"`
	Channels map[string]string `json:"channels,omitempty"`
}

// SubscriberPut is the record of an entry of the address book that was added or replaced; before is nil for an added
// one.
func SubscriberPut(before, after *delivery.Subscriber) *ledger.Change {
	c := &ledger.Change{Action: "subscriber.put", Object: "subscriber:" + after.ID, After: state(Subscriber(*after))}
	if before != nil {
		c.Before = state(Subscriber(*before))
	}
	return c
}

// SubscriberDeleted is the record of a deleted entry of the address book.
func SubscriberDeleted(s *delivery.Subscriber) *ledger.Change {
	return &ledger.Change{Action: "subscriber.delete", Object: "subscriber:" + s.ID, Before: state(Subscriber(*s))}
}
