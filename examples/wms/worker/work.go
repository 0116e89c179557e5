package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// floor is what the worker knows of the warehouse.
type floor struct {
	missing []string      // articles without reserve
	closed  []string      // aisles, the letters that bin codes begin with
	takes   time.Duration // a refill
}

// order is what the worker reads of an item's payload, which is a notice.
type order struct {
	Warehouse string `json:"warehouse"`
	Title     string `json:"title"`
	Data      struct {
		Bin string `json:"bin"`
		SKU string `json:"sku"`
	} `json:"data"`
}

func (o order) String() string {
	if o.Data.SKU == "" {
		return "bin " + o.Data.Bin
	}
	return "bin " + o.Data.Bin + ", " + o.Data.SKU
}

// work decides what becomes of an item and does what there is to do. In this order:
//
//   - what cannot be understood is put back: after max_attempts it is dead, and a person looks at it
//   - a bin in a closed aisle is stored until tomorrow
//   - an article without reserve is suspended: the truck may bring it. The queue says for how long, and how often that may be
//   - every other bin is refilled, which takes a while; then the item is done
func (f *floor) work(ctx context.Context, it item) (o order, done op) {
	done = op{ID: it.ID, Attempt: it.Attempt}
	if err := json.Unmarshal(it.Payload, &o); err != nil || o.Data.Bin == "" {
		done.Op, done.Note = "nack", "the payload names no bin"
		return o, done
	}
	aisle, _, _ := strings.Cut(o.Data.Bin, "-")
	switch {
	case slices.Contains(f.closed, aisle):
		done.Op, done.Days, done.Note = "store", 1, fmt.Sprintf("aisle %s is closed", aisle)
	case slices.Contains(f.missing, o.Data.SKU):
		done.Op, done.Note = "suspend", fmt.Sprintf("no %s in reserve", o.Data.SKU)
	default:
		done.Op = "ack"
		select {
		case <-time.After(f.takes):
		case <-ctx.Done():
		}
	}
	return o, done
}

// instead is what follows when an operation was refused: an item that was suspended as often as it may be is stored. Any
// other refusal says that the item is not ours any more.
func instead(refused op, outcome string) (op, bool) {
	if outcome != "suspend_limit" {
		return op{}, false
	}
	refused.Op, refused.Days = "store", 1
	return refused, true
}
