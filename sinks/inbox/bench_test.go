package inbox

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
)

const (
	fanned  = 10_000 // notices
	fanTo   = 10     // subscribers of each
	bodyLen = 300
)

// BenchmarkFanOut delivers 10,000 notices to 10 subscribers each, beside what the bare library does: all on one server,
// in turns, each beginning with an empty one. The peers get encoded bodies; Deliver encodes them itself.
func BenchmarkFanOut(b *testing.B) {
	r := testenv.Redis(b)
	n := newNode(b, r.Addr, newMemoryLedger())
	f := &fanBench{b: b, n: n, client: n.client, subscribers: make([]string, fanTo)}
	for i := range f.subscribers {
		f.subscribers[i] = fmt.Sprintf("user:%d", 1000+i)
	}
	slices.Sort(f.subscribers)
	f.prepare()
	var ours, grouped, naive, ourBytes, theirBytes []float64
	for b.Loop() {
		rate, size := f.measure(fanned, f.deliver)
		ours, ourBytes = append(ours, rate), append(ourBytes, size)
		rate, size = f.measure(fanned, f.groupedPipeline)
		grouped, theirBytes = append(grouped, rate), append(theirBytes, size)
		rate, _ = f.measure(fanned, f.naive)
		naive = append(naive, rate)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ours), "notices/s")
	b.ReportMetric(median(grouped), "grouped/s")
	b.ReportMetric(median(naive), "naive/s")
	b.ReportMetric(median(ours)/median(naive), "x-naive")
	b.ReportMetric(median(ours)/median(grouped), "of-grouped")
	b.ReportMetric(median(ourBytes), "B/notice")
	b.ReportMetric(median(ourBytes)/median(theirBytes), "memory-of-grouped")
}

type fanBench struct {
	b           *testing.B
	n           *node
	client      redis.UniversalClient
	subscribers []string
	batch       []delivery.Delivery
	bodies      [][]byte
	epochs      int
}

// prepare makes the notices, with bodies of about 300 bytes.
func (f *fanBench) prepare() {
	f.batch = makeDeliveries(fanned, wh, f.subscribers...)
	expires := f.batch[0].Notice.ExpiresAt // one run of a rule made them, so they live equally long
	for i := range f.batch {
		n := f.batch[i].Notice
		n.ExpiresAt = expires
		e, err := f.n.newEntry(&delivery.Delivery{Notice: n}, 0)
		if err != nil {
			f.b.Fatal(err)
		}
		n.Body = strings.Repeat("x", max(0, bodyLen-len(e.body)+len(n.Body)))
		if e, err = f.n.newEntry(&delivery.Delivery{Notice: n}, 0); err != nil {
			f.b.Fatal(err)
		}
		f.bodies = append(f.bodies, e.body)
	}
}

// measure runs one competitor on an empty server and returns its notices per second and bytes per notice.
func (f *fanBench) measure(n int, run func(ctx context.Context, n int) error) (rate, size float64) {
	ctx := f.b.Context()
	if err := f.client.FlushAll(ctx).Err(); err != nil {
		f.b.Fatal(err)
	}
	f.n.keeper.CheckNow()
	f.epochs++
	testenv.Eventually(f.b, func() bool { return f.n.ledger.epochs() > f.epochs && f.n.Ready() == nil }, 20*time.Second)
	for _, s := range f.subscribers {
		if err := f.client.SAdd(ctx, "subscribers", s).Err(); err != nil {
			f.b.Fatal(err)
		}
	}
	before := f.used(ctx)
	began := time.Now()
	if err := run(ctx, n); err != nil {
		f.b.Fatal(err)
	}
	took := time.Since(began)
	return float64(n) / took.Seconds(), (f.used(ctx) - before) / float64(n)
}

func (f *fanBench) used(ctx context.Context) float64 {
	info, err := f.client.InfoMap(ctx, "memory").Result()
	if err != nil {
		f.b.Fatal(err)
	}
	used, err := strconv.ParseFloat(info["Memory"]["used_memory_dataset"], 64)
	if err != nil {
		f.b.Fatal(err)
	}
	return used
}

func (f *fanBench) deliver(ctx context.Context, n int) error {
	_, err := f.n.Deliver(ctx, wh, f.batch[:n])
	return err
}

// groupedPipeline is the fastest that plain commands allow: all bodies in one MSET, and the ids in one ZADD for each
// inbox. It has no clock, no expiry, no cap, and no check for notices that exist already.
func (f *fanBench) groupedPipeline(ctx context.Context, n int) error {
	clock := time.Now().UnixMicro()
	for from := 0; from < n; from += maxBatch {
		to := min(from+maxBatch, n)
		_, err := f.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			set := make([]any, 0, 2*maxBatch)
			members := make([]redis.Z, 0, maxBatch)
			for i := from; i < to; i++ {
				id := f.batch[i].Notice.ID
				set = append(set, "tallyman:{"+wh+"}:n:"+id, f.bodies[i])
				members = append(members, redis.Z{Score: float64(clock + int64(i)), Member: id})
			}
			p.MSet(ctx, set...)
			for _, s := range f.subscribers {
				p.ZAdd(ctx, "tallyman:{"+wh+"}:of:"+s, members...)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// naive asks for the subscribers and writes the body into the inbox of each, a round trip each.
func (f *fanBench) naive(ctx context.Context, n int) error {
	clock := time.Now().UnixMicro()
	for i := range n {
		subscribers, err := f.client.SMembers(ctx, "subscribers").Result()
		if err != nil {
			return err
		}
		for _, s := range subscribers {
			z := redis.Z{Score: float64(clock + int64(i)), Member: f.bodies[i]}
			if err := f.client.ZAdd(ctx, "naive:"+s, z).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
