package rows

import (
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// DeliveryRecord is a delivery with its notice as the query of a list names its columns. What only deliveries to push channels have is
// empty of others.
type DeliveryRecord struct {
	TracedDelivery
	Body          []byte
	Strategy      Strategy
	Due, Deadline int64
	Node          string
	Claimed       bool
	Held          string
	InFront       int64
}

// Columns returns pointers to the fields in the order of the query's columns.
func (d *DeliveryRecord) Columns() []any {
	columns := append(d.TracedDelivery.Columns(), &d.Body)
	columns = append(columns, d.Strategy.Columns()...)
	return append(columns, &d.Due, &d.Deadline, &d.Node, &d.Claimed, &d.Held, &d.InFront)
}

// Record is the row as operators see it.
func (d *DeliveryRecord) Record() (ledger.DeliveryRecord, error) {
	n, err := notice.Unmarshal(d.Body)
	if err != nil {
		return ledger.DeliveryRecord{}, err
	}
	out := ledger.DeliveryRecord{
		TracedDelivery: d.Traced(), Notice: n.ID, Type: n.Type, Rule: n.Rule, Status: string(n.Status), Where: n.Warehouse,
		Title: n.Title, Created: n.CreatedAt, Expires: n.ExpiresAt, Deadline: Time(d.Deadline), HeldBy: d.Held, InFront: d.InFront,
	}
	if d.Strategy.Kind != "" {
		s := d.Strategy.Strategy()
		out.Strategy = &s
	}
	if out.Behind = d.Due == Behind; !out.Behind {
		out.Next = Time(d.Due)
	}
	if d.Claimed {
		out.Node, out.HeldBy = d.Node, ""
	}
	return out, nil
}
