package queue

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"tallyman/internal/item"
)

// standing is all that a line holds.
type standing struct {
	Items    []item.Item
	Lists    map[string][]string // "level source" → "score member"
	Heads    map[string]int64    // "level source" → lowest score
	Since    map[string][]string // "level warehouse" → members
	Own      []string            // members of assigned
	OwnOf    map[string][]string // warehouse → the same
	Timed    map[string][]string // "state warehouse" → ids
	Dedupe   map[string]string
	Windows  int
	News     []string            // ids
	Recorded map[int64]item.Move // the last of each item, as the outbox has it
}

// samePayloads compares payloads at once, not byte by byte.
var samePayloads = gocmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })

func (r *modelRun) compare(t *rapid.T) {
	got, err := r.standing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(r.want(), got, cmpopts.EquateEmpty(), samePayloads); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
}

// standing reads what there is in Redis.
func (r *modelRun) standing(ctx context.Context) (standing, error) {
	s := standing{
		Lists: map[string][]string{}, Heads: map[string]int64{}, Since: map[string][]string{}, OwnOf: map[string][]string{}, Timed: map[string][]string{}, Recorded: map[int64]item.Move{},
	}
	k := r.line.keys
	p := r.client.Pipeline()
	values, own, dedupe := p.HGetAll(ctx, k.items()), p.ZRange(ctx, k.assigned(), 0, -1), p.HGetAll(ctx, k.dedupe())
	windows, entries := p.ZCard(ctx, k.windows()), p.LRange(ctx, k.outbox(), 0, -1)
	waits := p.ZRangeWithScores(ctx, k.waits(), 0, -1)
	known, payloads := p.ZRange(ctx, k.warehouses(), 0, -1), p.HGetAll(ctx, k.payloads())
	lists, timed, heads := map[string]*redis.ZSliceCmd{}, map[string]*redis.ZSliceCmd{}, [6]*redis.ZSliceCmd{}
	since, ownOf := map[string]*redis.StringSliceCmd{}, map[string]*redis.StringSliceCmd{}
	for level := range heads {
		heads[level] = p.ZRangeWithScores(ctx, fmt.Sprintf("%sheads:%d", k.base, level), 0, -1)
	}
	for _, warehouse := range modelWarehouses {
		name := warehouseName(warehouse)
		for level := range 6 {
			for _, source := range []string{name, name + "/o"} {
				lists[fmt.Sprintf("%d %s", level, source)] = p.ZRangeWithScores(ctx, fmt.Sprintf("%sready:%d:%s", k.base, level, source), 0, -1)
			}
			since[fmt.Sprintf("%d %s", level, name)] = p.ZRange(ctx, fmt.Sprintf("%ssince:%d:%s", k.base, level, name), 0, -1)
		}
		ownOf[name] = p.ZRange(ctx, k.base+"assigned:"+name, 0, -1)
		for _, state := range []item.State{item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead} {
			timed[state.Letter()+" "+name] = p.ZRangeWithScores(ctx, k.base+string(state)+":"+name, 0, -1)
		}
	}
	news := p.HKeys(ctx, k.news())
	if _, err := p.Exec(ctx); err != nil {
		return s, err
	}
	var failed error
	wrong := func(format string, args ...any) { failed = errors.Join(failed, fmt.Errorf(format, args...)) }

	for name, list := range lists {
		for _, z := range list.Val() {
			s.Lists[name] = append(s.Lists[name], fmt.Sprintf("%.0f %s", z.Score, z.Member))
		}
	}
	for level, list := range heads {
		for _, z := range list.Val() {
			s.Heads[fmt.Sprintf("%d %s", level, z.Member)] = int64(z.Score)
		}
	}
	for name, members := range since {
		if len(members.Val()) > 0 {
			s.Since[name] = members.Val()
		}
	}
	s.Own, s.News = own.Val(), slices.Sorted(slices.Values(news.Val()))
	for name, members := range ownOf {
		if len(members.Val()) > 0 {
			s.OwnOf[name] = members.Val()
		}
	}
	bounds := map[string]float64{}
	for _, z := range waits.Val() {
		bounds[z.Member.(string)] = z.Score
	}
	for name, members := range timed {
		for _, z := range members.Val() {
			s.Timed[name] = append(s.Timed[name], z.Member.(string))
		}
		if len(members.Val()) == 0 {
			continue
		}
		if bound, ok := bounds[name]; name[0] != 'x' && (!ok || bound > members.Val()[0].Score) {
			wrong("of %s something is due at %.0f, but waits says %.0f", name, members.Val()[0].Score, bound)
		}
		if !slices.Contains(known.Val(), name[2:]) {
			wrong("warehouse %s is not known", name[2:])
		}
	}
	for name := range s.Lists {
		if warehouse := strings.TrimSuffix(name[2:], "/o"); !slices.Contains(known.Val(), warehouse) {
			wrong("warehouse %s is not known", warehouse)
		}
	}

	for id := range payloads.Val() {
		if value, ok := values.Val()[id]; !ok || !strings.HasSuffix(value, "@") {
			wrong("the payload of %s lies apart, but its value is %q", id, value)
		}
	}
	for id, value := range values.Val() {
		if head, mark, _ := strings.Cut(value, "\n"); strings.HasSuffix(mark, "@") {
			payload := payloads.Val()[id]
			if mark != fmt.Sprintf("%d@", len(payload)) {
				wrong("the mark of %s is %q, its payload has %d bytes", id, mark, len(payload))
			}
			value = head + "\n" + payload
		}
		i, err := parseValue(id, value)
		failed = errors.Join(failed, err)
		s.Items = append(s.Items, i)
	}
	slices.SortFunc(s.Items, func(a, b item.Item) int { return strings.Compare(a.ID, b.ID) })
	s.Dedupe, s.Windows = dedupe.Val(), int(windows.Val())
	for n, entry := range entries.Val() {
		moves, err := parseEntry(int64(n+1), entry)
		failed = errors.Join(failed, err)
		for _, m := range moves.List {
			if before := s.Recorded[m.Seq]; m.N != max(before.N, r.lives[m.Seq])+1 || before.To != "" && m.From != before.To {
				failed = errors.Join(failed, fmt.Errorf("item %d moved from %+v to %+v", m.Seq, before, m))
			}
			s.Recorded[m.Seq] = recorded(item.Move{
				N: m.N, To: m.To, Attempt: m.Attempt, Failures: m.Failures, Suspends: m.Suspends, Due: m.Due, Assignee: m.Assignee, Revision: m.Revision,
			})
		}
	}
	return s, failed
}

// want is what the model says that there is.
func (m *model) want() standing {
	s := standing{
		Lists: map[string][]string{}, Heads: map[string]int64{}, Since: map[string][]string{}, OwnOf: map[string][]string{}, Timed: map[string][]string{},
		Dedupe: map[string]string{}, Recorded: map[int64]item.Move{},
	}
	for _, id := range slices.Sorted(maps.Keys(m.items)) {
		i := m.items[id]
		i.Due = fromMicro(i.due)
		i.Ready = i.Ready.UTC()
		s.Items = append(s.Items, i.Item)
		if i.News {
			s.News = append(s.News, id)
		}
	}
	for level := item.HighestPriority; level >= item.LowestPriority; level-- {
		for _, i := range m.common(level) {
			name := fmt.Sprintf("%d %s", level, i.source())
			if s.Lists[name] == nil {
				s.Heads[name] = i.score()
			}
			s.Lists[name] = append(s.Lists[name], fmt.Sprintf("%d %s", i.score(), i.member()))
			if i.Order.Given {
				name := fmt.Sprintf("%d %s", level, warehouseName(i.Warehouse))
				s.Since[name] = append(s.Since[name], i.member())
				slices.Sort(s.Since[name])
			}
		}
		for _, i := range m.own(level) {
			member := fmt.Sprintf("%s %d %s", i.Assignee, item.HighestPriority-level, i.rank())
			name := warehouseName(i.Warehouse)
			s.Own, s.OwnOf[name] = append(s.Own, member), append(s.OwnOf[name], member)
			slices.Sort(s.OwnOf[name])
		}
	}
	slices.Sort(s.Own)
	for _, state := range []item.State{item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead} {
		for _, i := range m.timed(state, nil) {
			name := state.Letter() + " " + warehouseName(i.Warehouse)
			s.Timed[name] = append(s.Timed[name], i.ID)
		}
	}
	for bucket, h := range m.dedupe {
		s.Dedupe[bucket] = fmt.Sprintf("%d %s", h.until, h.id)
		if h.keep > 0 {
			s.Windows++
		}
	}
	for _, i := range slices.Concat(slices.Collect(maps.Values(m.items)), slices.Collect(maps.Values(m.ended))) {
		if i.Moves > m.first(i) {
			s.Recorded[i.Seq] = recorded(item.Move{
				N: i.Moves, To: i.State, Attempt: i.Attempt, Failures: i.Failures, Suspends: i.Suspends, Due: fromMicro(i.due), Assignee: i.Assignee, Revision: i.revision,
			})
		}
	}
	return s
}

// timed are the items of a state that has times, of the scope's warehouses, in the order of lists.
func (m *model) timed(state item.State, scope item.Scope) []*modelItem {
	var out []*modelItem
	for _, i := range m.items {
		if i.State == state && scope.Has(i.Warehouse) {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b *modelItem) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(warehouseName(a.Warehouse), warehouseName(b.Warehouse)), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// recorded is what two records of a state have in common: a lease may have been extended since.
func recorded(m item.Move) item.Move {
	if m.To == item.Leased {
		m.Due = time.Time{}
	}
	return m
}
