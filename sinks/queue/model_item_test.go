package queue

import (
	"cmp"
	"fmt"
	"time"

	"tallyman/internal/item"
)

// modelItem is an item as it should be.
type modelItem struct {
	item.Item
	due, place int64
	until      time.Time      // the end of the window of its dedupe key
	news       *item.Setting  // what it takes when it waits again
	revision   *item.Revision // of its last move
}

// source is the ready list of an item that is ready for anybody.
func (i *modelItem) source() string {
	if i.Order.Given {
		return warehouseName(i.Warehouse) + "/o"
	}
	return warehouseName(i.Warehouse)
}

// member is how it stands there.
func (i *modelItem) member() string {
	if i.Order.Given {
		return fmt.Sprintf("%016d %s", i.place+5e15, i.ID)
	}
	return i.ID
}

func (i *modelItem) score() int64 {
	if i.Order.Given {
		return i.Order.Thousandths
	}
	return i.place
}

// rank is how it stands behind its worker and its level where it is ready for that worker alone.
func (i *modelItem) rank() string { return fmt.Sprintf("%016d %s", i.score()+5e15, i.member()) }

// set gives an item another priority, order and payload.
func (i *modelItem) set(s *item.Setting) {
	i.Priority = cmp.Or(s.Priority, i.Priority)
	if s.Order != nil {
		i.Order = *s.Order
	}
	if s.Source != 0 {
		i.Payload = s.Payload
	}
	i.revision = &item.Revision{Priority: i.Priority, Order: i.Order, Source: s.Source}
}
