package codec

import (
	"encoding/json"
	"fmt"

	"tallyman/internal/ledger"
)

// Origin is a row of subscription_origins.
type Origin struct {
	Name                    string
	Token                   int64
	Asked, Answered, Failed int64
	Error, Waits            string
	WaitsSince              int64
	Subscriptions           int
}

// Columns are the targets of the row.
func (o *Origin) Columns() []any {
	return []any{&o.Name, &o.Token, &o.Asked, &o.Answered, &o.Failed, &o.Error, &o.Waits, &o.WaitsSince, &o.Subscriptions}
}

// Origin is the row without the list that waits.
func (o *Origin) Origin() ledger.SubscriptionOrigin {
	return ledger.SubscriptionOrigin{
		Name: o.Name, Subscriptions: o.Subscriptions, Asked: Time(o.Asked), Answered: Time(o.Answered), FailedSince: Time(o.Failed), Error: o.Error,
	}
}

// WaitingSubscriptions is the list that waits; nil where none does.
func (o *Origin) WaitingSubscriptions() ([]ledger.Subscription, error) {
	if o.Waits == "" {
		return nil, nil
	}
	var triples [][3]string
	if err := json.Unmarshal([]byte(o.Waits), &triples); err != nil {
		return nil, fmt.Errorf("the list of origin %s that waits: %w", o.Name, err)
	}
	subs := make([]ledger.Subscription, len(triples))
	for i, t := range triples {
		subs[i] = ledger.Subscription{Type: t[0], Warehouse: t[1], Subscriber: t[2], Origin: o.Name}
	}
	return subs, nil
}

// Args are the arguments of set-origin.
func (o *Origin) Args() []any {
	return []any{o.Name, o.Answered, o.Failed, o.Error, o.Waits, o.WaitsSince}
}
