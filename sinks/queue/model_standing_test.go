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
	"strconv"
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
	Common   [6][]string         // the order of service of each level
	Lists    map[string][]string // "level warehouse" → ids
	Heads    []string            // the lists in the order of their first items
	Own      [6][]string
	OwnOf    map[string][]string // warehouse → members of assigned
	Timed    map[string][]string // "state warehouse" → ids
	Dedupe   map[string]string
	Windows  int
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
		Lists: map[string][]string{}, OwnOf: map[string][]string{}, Timed: map[string][]string{}, Recorded: map[int64]item.Move{},
	}
	k := r.line.keys
	p := r.client.Pipeline()
	values, own, dedupe := p.HGetAll(ctx, k.items()), p.ZRange(ctx, k.assigned(), 0, -1), p.HGetAll(ctx, k.dedupe())
	windows, entries := p.ZCard(ctx, k.windows()), p.LRange(ctx, k.outbox(), 0, -1)
	heads, waits := p.ZRangeWithScores(ctx, k.heads(), 0, -1), p.ZRangeWithScores(ctx, k.waits(), 0, -1)
	known, payloads := p.ZRange(ctx, k.warehouses(), 0, -1), p.HGetAll(ctx, k.payloads())
	type list struct{ ids, runs *redis.StringSliceCmd }
	lists, ownOf, timed := map[string]list{}, map[string]*redis.StringSliceCmd{}, map[string]*redis.ZSliceCmd{}
	for _, warehouse := range modelWarehouses {
		name := warehouseName(warehouse)
		for level := range 6 {
			at := fmt.Sprintf("%d:%s", level, name)
			lists[fmt.Sprintf("%d %s", level, name)] = list{p.LRange(ctx, k.base+"ready:"+at, 0, -1), p.LRange(ctx, k.base+"runs:"+at, 0, -1)}
		}
		ownOf[name] = p.ZRange(ctx, k.base+"assigned:"+name, 0, -1)
		for _, state := range []item.State{item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead} {
			timed[state.Letter()+" "+name] = p.ZRangeWithScores(ctx, k.base+string(state)+":"+name, 0, -1)
		}
	}
	if _, err := p.Exec(ctx); err != nil {
		return s, err
	}
	var failed error
	wrong := func(format string, args ...any) { failed = errors.Join(failed, fmt.Errorf(format, args...)) }

	// The runs say in which order the lists are served, and heads which begins.
	type run struct {
		number int
		ids    []string
	}
	var levels [6][]run
	first := map[string]int{}
	for name, l := range lists {
		ids, end := l.ids.Val(), 0
		if len(ids) > 0 {
			s.Lists[name] = ids
		}
		for at, text := range l.runs.Val() {
			var number, count int
			if _, err := fmt.Sscanf(text, "%d %d", &number, &count); err != nil || count < 1 || end+count > len(ids) {
				wrong("run %d of %s is %q, with %d ids", at, name, text, len(ids))
				continue
			}
			if at == 0 {
				first[name] = number
			}
			level := name[0] - '0'
			levels[level] = append(levels[level], run{number, ids[end : end+count]})
			end += count
		}
		if end != len(ids) {
			wrong("the runs of %s have %d items, the list %d", name, end, len(ids))
		}
	}
	for level, runs := range levels {
		slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.number, b.number) })
		for _, run := range runs {
			s.Common[level] = append(s.Common[level], run.ids...)
		}
	}
	for _, head := range heads.Val() {
		name := head.Member.(string)
		s.Heads = append(s.Heads, name)
		if want := int(5-(name[0]-'0'))*1e15 + first[name]; int(head.Score) != want {
			wrong("the head of %s is %.0f, want %d", name, head.Score, want)
		}
	}
	for _, m := range own.Val() {
		f := strings.Split(m, " ")
		level, _ := strconv.Atoi(f[1])
		s.Own[5-level] = append(s.Own[5-level], m)
	}
	for level := range s.Own {
		slices.SortFunc(s.Own[level], func(a, b string) int { return cmp.Compare(strings.Split(a, " ")[2], strings.Split(b, " ")[2]) })
		for i, m := range s.Own[level] {
			s.Own[level][i] = strings.Split(m, " ")[0] + " " + strings.Split(m, " ")[3]
		}
	}
	for name, members := range ownOf {
		for _, m := range members.Val() {
			if !slices.Contains(own.Val(), m) {
				wrong("%s is assigned in %s, and not in all", m, name)
			}
			s.OwnOf[name] = append(s.OwnOf[name], strings.Split(m, " ")[3])
		}
		slices.Sort(s.OwnOf[name])
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
		if !slices.Contains(known.Val(), name[2:]) {
			wrong("warehouse %s is not known", name[2:])
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
		Common: m.common, Lists: map[string][]string{}, OwnOf: map[string][]string{}, Timed: map[string][]string{}, Dedupe: map[string]string{},
		Recorded: map[int64]item.Move{},
	}
	for _, id := range slices.Sorted(maps.Keys(m.items)) {
		i := m.items[id]
		i.Due = fromMicro(i.due)
		i.Ready = i.Ready.UTC()
		s.Items = append(s.Items, i.Item)
	}
	for level := item.HighestPriority; level >= item.LowestPriority; level-- {
		for _, id := range m.common[level] {
			name := fmt.Sprintf("%d %s", level, warehouseName(m.items[id].Warehouse))
			if s.Lists[name] == nil {
				s.Heads = append(s.Heads, name)
			}
			s.Lists[name] = append(s.Lists[name], id)
		}
		for _, id := range m.own[level] {
			s.Own[level] = append(s.Own[level], m.items[id].Assignee+" "+id)
			name := warehouseName(m.items[id].Warehouse)
			s.OwnOf[name] = append(s.OwnOf[name], id)
		}
	}
	for name := range s.OwnOf {
		slices.Sort(s.OwnOf[name])
	}
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
		if i.Moves > 0 {
			s.Recorded[i.Seq] = recorded(item.Move{
				N: i.Moves, To: i.State, Attempt: i.Attempt, Failures: i.Failures, Suspends: i.Suspends, Due: fromMicro(i.due), Assignee: i.Assignee,
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
