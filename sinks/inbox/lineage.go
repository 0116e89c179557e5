package inbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// An origin is the text that Redis keeps about the newest delivery of a warehouse: "<seq> <created, µs> <expires, µs>
// <notice id>". The script that puts the delivery into the inboxes also writes the origin. A ledger that was restored
// from a backup has another notice under that number, or none.

func (e *entry) origin() string {
	return fmt.Sprintf("%d %d %d %s", e.seq, e.created, e.expires, e.id)
}

// lastOrigin returns the origin of the newest delivery of a batch.
func lastOrigin(batch []entry) string {
	last := &batch[0]
	for i := range batch {
		if batch[i].seq > last.seq {
			last = &batch[i]
		}
	}
	return last.origin()
}

// lastField is the field of a warehouse's clock that holds the origin.
const lastField = "last"

// warehouseOrigin is the origin that Redis remembers for a warehouse.
type warehouseOrigin struct {
	warehouse string
	seq       int64
	notice    string
	created   int64 // µs
}

// Ahead implements recovery.Contents: the ledger must have the newest delivery of each warehouse. Deliveries of expired
// notices are not checked, because the ledger may have pruned them, and no reader sees them any more.
func (in rebuilder) Ahead(ctx context.Context, epoch string) (string, error) {
	highest, err := in.highest(ctx)
	if err != nil {
		return "", err
	}
	for _, warehouse := range in.known() { // a restored ledger may not have a warehouse that this node knows
		highest[warehouse] = max(highest[warehouse], 0)
	}
	origins, err := in.askOrigins(ctx, epoch, slices.Sorted(maps.Keys(highest)))
	if err != nil || len(origins) == 0 {
		return "", err
	}
	seqs := make([]int64, len(origins))
	for i := range origins {
		seqs[i] = origins[i].seq
	}
	known, err := in.o.Ledger.Origins(ctx, seqs)
	if err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	for _, o := range origins {
		if has, ok := known[o.seq]; !ok || has.Notice != o.notice || has.Created.UnixMicro() != o.created {
			return fmt.Sprintf("the ledger does not have notice %s of warehouse %s as delivery %d", o.notice, o.warehouse, o.seq), nil
		}
	}
	return "", nil
}

// askOrigins reads the origins of the warehouses that are in the epoch. Origins of expired notices are left out.
func (in *index) askOrigins(ctx context.Context, epoch string, warehouses []string) ([]warehouseOrigin, error) {
	if len(warehouses) == 0 {
		return nil, nil
	}
	replies := make([]*redis.SliceCmd, len(warehouses))
	var clock *redis.TimeCmd
	_, err := in.o.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		clock = p.Time(ctx)
		for i, w := range warehouses {
			replies[i] = p.HMGet(ctx, in.keys.clock(w), "epoch", lastField)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	now := clock.Val()
	if in.o.Now != nil {
		now = in.o.Now()
	}
	var list []warehouseOrigin
	for i, reply := range replies {
		fields := reply.Val()
		text, _ := fields[1].(string)
		if at, _ := fields[0].(string); at != epoch || text == "" {
			continue
		}
		o, expires, err := parseOrigin(text)
		if err != nil {
			return nil, err
		}
		if o.warehouse = warehouses[i]; expires > now.UnixMicro() {
			list = append(list, o)
		}
	}
	return list, nil
}

func parseOrigin(text string) (o warehouseOrigin, expires int64, err error) {
	parts := strings.Split(text, " ")
	if len(parts) != 4 {
		return o, 0, fmt.Errorf("inbox: %q is no origin of a delivery", text)
	}
	var numbers [3]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return o, 0, fmt.Errorf("inbox: %q is no origin of a delivery: %w", text, err)
		}
	}
	return warehouseOrigin{seq: numbers[0], created: numbers[1], notice: parts[3]}, numbers[2], nil
}

// Withhold implements recovery.Contents. Withhold does nothing: the ledger has everything that an inbox keeps.
func (rebuilder) Withhold(context.Context, string) (withheld, dropped int, err error) {
	return 0, 0, nil
}
