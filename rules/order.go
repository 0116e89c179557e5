package rules

import (
	"fmt"
	"slices"
	"strings"

	"tallyman/internal/item"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
)

// order compiles notice.order: a number, a time, or an expression that gives one.
func (c *compiler) order() {
	src := c.r.Notice.Order
	if src == "" {
		return
	}
	if o, err := item.ParseServiceOrder(src); err == nil {
		c.program.fixedOrder = o.String()
		return
	}
	c.program.order = c.expr("notice.order", src)
	kinds := []row.Kind{row.Int, row.Decimal, row.Float, row.Time, row.Date, row.JSON}
	if p := c.program.order; p != nil && !slices.Contains(kinds, p.Kind()) {
		c.fail("notice.order", CodeExprKind, fmt.Sprintf("the order is a value of kind %s, neither a number nor a time", p.Kind()),
			"queues serve the lowest value first: cut_off for the earliest, -qty for the largest")
	}
}

// orderOf returns the order of the items that queues make of the notice. A group has the lowest order of its rows. NULL
// means no order.
func (p *Program) orderOf(s subject) (string, error) {
	if p.order == nil {
		return p.fixedOrder, nil
	}
	subjects := []subject{s}
	if !s.result {
		subjects = subjects[:0]
		for i := range s.rows {
			subjects = append(subjects, subject{rows: s.rows[i : i+1]})
		}
	}
	var lowest item.ServiceOrder
	for _, one := range subjects {
		v, err := one.eval(p.order)
		if err != nil {
			return "", fmt.Errorf("order: %w", err)
		}
		o, err := serviceOrder(v)
		if err != nil {
			return "", err
		}
		if o.Given && (!lowest.Given || o.Thousandths < lowest.Thousandths) {
			lowest = o
		}
	}
	return lowest.String(), nil
}

// serviceOrder makes an order from the value of the expression. It keeps three digits after the point of a number, and
// the microseconds of a time.
func serviceOrder(v row.Value) (item.ServiceOrder, error) {
	switch v.Kind() {
	case row.Null:
		return item.ServiceOrder{}, nil
	case row.Time, row.Date:
		return item.ParseServiceOrder(v.Time().Format("2006-01-02T15:04:05.999999Z"))
	default:
		number, err := fit(catalog.Decimal, v)
		if err != nil {
			return item.ServiceOrder{}, fmt.Errorf("order: is a value of kind %s, neither a number nor a time", v.Kind())
		}
		text := number.String()
		if point := strings.IndexByte(text, '.'); point >= 0 && len(text) > point+4 {
			text = text[:point+4]
		}
		return item.ParseServiceOrder(text)
	}
}
