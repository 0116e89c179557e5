package codec

import (
	"encoding/json"
	"fmt"

	"tallyman/internal/ledger"
	"tallyman/rules/scopelist"
)

// Origin is a row of origins. Waits is the list that waits for an operator. List is the list in force, for an origin
// of scopes only. "" = no list.
type Origin struct {
	Kind                    ledger.OriginKind
	Name                    string
	Token                   int64
	Asked, Answered, Failed int64
	Error, Waits            string
	WaitsSince              int64
	List                    string
	Listed                  int // number of entries in force
}

// Columns returns the targets for the row.
func (o *Origin) Columns() []any {
	return []any{&o.Kind, &o.Name, &o.Token, &o.Asked, &o.Answered, &o.Failed, &o.Error, &o.Waits, &o.WaitsSince, &o.List, &o.Listed}
}

// State returns the part that origins of both kinds have.
func (o *Origin) State() ledger.OriginState {
	return ledger.OriginState{Name: o.Name, Asked: Time(o.Asked), Answered: Time(o.Answered), FailedSince: Time(o.Failed), Error: o.Error}
}

// WaitingSubscriptions returns the waiting list of an origin of subscriptions; nil = none.
func (o *Origin) WaitingSubscriptions() ([]ledger.Subscription, error) {
	if o.Waits == "" {
		return nil, nil
	}
	var triples [][3]string
	if err := json.Unmarshal([]byte(o.Waits), &triples); err != nil {
		return nil, fmt.Errorf("the waiting list of origin %s: %w", o.Name, err)
	}
	subs := make([]ledger.Subscription, len(triples))
	for i, t := range triples {
		subs[i] = ledger.Subscription{Type: t[0], Warehouse: t[1], Subscriber: t[2], Origin: o.Name}
	}
	return subs, nil
}

// Scopes returns the lists of an origin of scopes: the one in force and the one that waits; nil = none.
func (o *Origin) Scopes() (inForce, waits scopelist.List, err error) {
	if inForce, err = scopes(o.Name, o.List); err != nil {
		return nil, nil, err
	}
	waits, err = scopes(o.Name, o.Waits)
	return inForce, waits, err
}

func scopes(rule, text string) (scopelist.List, error) {
	if text == "" {
		return nil, nil
	}
	list, err := scopelist.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the scopes of rule %s: %w", rule, err)
	}
	return list, nil
}

// Args returns the arguments of set-origin.
func (o *Origin) Args() []any {
	return []any{string(o.Kind), o.Name, o.Answered, o.Failed, o.Error, o.Waits, o.WaitsSince, o.List, o.Listed}
}
