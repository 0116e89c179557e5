package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"tallyman/sinks/queue/item"
)

// standing is all that a line holds.
type standing struct {
	Items    []item.Item
	Common   [6][]string
	Own      map[string][]string // "worker level" → ids
	Timed    map[item.State][]string
	Dedupe   map[string]string
	Windows  int
	Recorded map[int64]item.Move // the last of each item, as the outbox has it
}

func (r *modelRun) compare(t *rapid.T) {
	got, err := r.standing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(r.want(), got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
}

// standing reads what there is in Redis, in one round trip.
func (r *modelRun) standing(ctx context.Context) (standing, error) {
	s := standing{Own: map[string][]string{}, Timed: map[item.State][]string{}, Recorded: map[int64]item.Move{}}
	k := r.line.keys
	timed := map[item.State]string{
		item.Leased: k.leased(), item.Delayed: k.delayed(), item.Suspended: k.suspended(), item.Stored: k.stored(), item.Dead: k.dead(),
	}
	p := r.client.Pipeline()
	values, own, dedupe := p.HGetAll(ctx, k.items()), p.ZRange(ctx, k.assigned(), 0, -1), p.HGetAll(ctx, k.dedupe())
	windows, entries := p.ZCard(ctx, k.windows()), p.LRange(ctx, k.outbox(), 0, -1)
	var levels [item.HighestPriority + 1]*redis.StringSliceCmd
	for level := item.LowestPriority; level <= item.HighestPriority; level++ {
		levels[level] = p.LRange(ctx, k.ready(level), 0, -1)
	}
	waiting := map[item.State]*redis.StringSliceCmd{}
	for state, key := range timed {
		waiting[state] = p.ZRange(ctx, key, 0, -1)
	}
	if _, err := p.Exec(ctx); err != nil {
		return s, err
	}

	var failed error
	for id, value := range values.Val() {
		i, err := parseValue(id, value)
		failed = errors.Join(failed, err)
		s.Items = append(s.Items, i)
	}
	slices.SortFunc(s.Items, func(a, b item.Item) int { return strings.Compare(a.ID, b.ID) })
	for level := item.LowestPriority; level <= item.HighestPriority; level++ {
		s.Common[level] = levels[level].Val()
	}
	for _, member := range own.Val() {
		f := strings.Split(member, " ")
		level, _ := strconv.Atoi(f[1])
		key := fmt.Sprintf("%s %d", f[0], 5-level)
		s.Own[key] = append(s.Own[key], f[3])
	}
	for state, ids := range waiting {
		if len(ids.Val()) > 0 {
			s.Timed[state] = ids.Val()
		}
	}
	s.Dedupe, s.Windows = dedupe.Val(), int(windows.Val())
	for n, entry := range entries.Val() {
		moves, err := parseEntry(int64(n+1), entry)
		failed = errors.Join(failed, err)
		for _, m := range moves.List {
			if before := s.Recorded[m.Seq]; m.N != before.N+1 || before.To != "" && m.From != before.To {
				failed = errors.Join(failed, fmt.Errorf("item %d moved from %+v to %+v", m.Seq, before, m))
			}
			s.Recorded[m.Seq] = recorded(item.Move{
				N: m.N, To: m.To, Attempt: m.Attempt, Failures: m.Failures, Suspends: m.Suspends, Due: m.Due, Assignee: m.Assignee,
			})
		}
	}
	return s, failed
}

// want is what the model says that there is.
func (m *model) want() standing {
	s := standing{
		Common: m.common, Own: map[string][]string{}, Timed: map[item.State][]string{}, Dedupe: map[string]string{},
		Recorded: map[int64]item.Move{},
	}
	timed := map[item.State][]*modelItem{}
	for _, id := range slices.Sorted(maps.Keys(m.items)) {
		i := m.items[id]
		i.Due = fromMicro(i.due)
		if i.due > 0 {
			timed[i.State] = append(timed[i.State], i)
		}
		i.Ready = i.Ready.UTC()
		s.Items = append(s.Items, i.Item)
	}
	for state, list := range timed {
		slices.SortStableFunc(list, func(a, b *modelItem) int { return cmp.Compare(a.due, b.due) })
		for _, i := range list {
			s.Timed[state] = append(s.Timed[state], i.ID)
		}
	}
	for worker, levels := range m.own {
		for level, ids := range levels {
			if len(ids) > 0 {
				s.Own[fmt.Sprintf("%s %d", worker, level)] = ids
			}
		}
	}
	for bucket, h := range m.dedupe {
		s.Dedupe[bucket] = fmt.Sprintf("%d %s", h.until, h.id)
		if h.keep > 0 {
			s.Windows++
		}
	}
	for _, i := range slices.Concat(slices.Collect(maps.Values(m.items)), slices.Collect(maps.Values(m.ended))) {
		if i.Moves > 0 {
			s.Recorded[i.Seq] = recorded(item.Move{
				N: i.Moves, To: i.State, Attempt: i.Attempt, Failures: i.Failures, Suspends: i.Suspends, Due: fromMicro(i.due), Assignee: i.Assignee,
			})
		}
	}
	return s
}

// recorded is what two records of a state have in common: a lease may have been extended since.
func recorded(m item.Move) item.Move {
	if m.To == item.Leased {
		m.Due = time.Time{}
	}
	return m
}
