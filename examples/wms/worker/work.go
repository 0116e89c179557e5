package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// floor is what the worker knows about the warehouse.
type floor struct {
	missing []string      // Articles without reserve.
	closed  []string      // Closed aisles. A bin code begins with the letter of its aisle.
	takes   time.Duration // How long a refill takes.
}

// order holds the fields that the worker reads from an item's payload, which is a notice.
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

// work does the work of an item and returns the operation to report. It decides in this order:
//
//   - It gives back a payload that it cannot read. After max_attempts the item is dead, and a person looks at it.
//   - It stores an item for a bin in a closed aisle until tomorrow.
//   - It suspends an item for an article without reserve, because a truck may bring it. The queue decides for how
//     long, and how often.
//   - It refills any other bin, which takes a while. Then the item is done.
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

// instead returns the operation to try after the server has refused one. An item that cannot be suspended again is
// stored. Any other refusal means that this worker does not have the item any more.
func instead(refused op, outcome string) (op, bool) {
	if outcome != "suspend_limit" {
		return op{}, false
	}
	refused.Op, refused.Days = "store", 1
	return refused, true
}
