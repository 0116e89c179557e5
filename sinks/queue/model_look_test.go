package queue

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"tallyman/internal/item"
)

// looks are the scripts of those who look.
var looks = newReadScripts()

// look reads a list page by page, names ranges and ranks, and counts, and compares all of it.
func (r *modelRun) look(t *rapid.T) {
	scope := drawScope(t)
	state := rapid.SampledFrom([]item.State{
		item.Ready, item.Assigned, item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead,
	}).Draw(t, "state")
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	want := r.listed(state, scope)

	var got []string
	for after := (cursor{}); ; {
		answer := r.read(t, looks.list, listLetter(state), limit, maxPageBytes, scopeNames(scope), after.level, after.at, after.source, after.member)
		page, err := parsePage(answer, &item.Query{State: state})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			got = append(got, i.ID)
			if !bytes.Equal(i.Payload, r.items[i.ID].Payload) {
				t.Fatalf("%s is listed with %q, want %q", i.ID, i.Payload, r.items[i.ID].Payload)
			}
		}
		if page.Cursor == "" {
			break
		}
		if after, err = decodeCursor(page.Cursor, state, ""); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s of %v by %d: %v, want %v", state, scope, limit, got, want)
	}

	if state != item.Leased {
		from, most := rapid.IntRange(0, len(want)+1).Draw(t, "from"), rapid.IntRange(1, 5).Draw(t, "most")
		some := r.read(t, looks.ranks, listLetter(state), from, most, scopeNames(scope))
		if part := want[min(from, len(want)):min(from+most, len(want))]; !slices.Equal(some, part) {
			t.Fatalf("%s of %v: %d behind %d are %v, want %v", state, scope, most, from, some, part)
		}
	}
	if state == item.Ready {
		for place, id := range want {
			if answer := r.read(t, looks.rank, id, scopeNames(scope)); len(answer) != 2 || answer[0] != strconv.Itoa(place+1) {
				t.Fatalf("%s of %v has the rank %q, want %d", id, scope, answer, place+1)
			}
		}
	}
	r.lookAtSizes(t, scope)
}

func (r *modelRun) lookAtSizes(t *rapid.T, scope item.Scope) {
	var sizes item.Sizes
	for after, more := "", true; more; more = after != "" {
		var err error
		if after, err = addSizes(&sizes, r.read(t, looks.sizes, scopeNames(scope), after, rapid.IntRange(1, 9).Draw(t, "at once"))); err != nil {
			t.Fatal(err)
		}
	}
	type depth struct{ ready, assigned, leased, delayed, suspended, stored, dead int64 }
	counted, want := map[string]depth{}, map[string]depth{}
	for _, d := range sizes.Warehouses {
		if got := (depth{d.Ready, d.Assigned, d.Leased, d.Delayed, d.Suspended, d.Stored, d.Dead}); got != (depth{}) {
			counted[d.Warehouse] = got
		}
	}
	for _, i := range r.items {
		if !scope.Has(i.Warehouse) {
			continue
		}
		d := want[i.Warehouse]
		switch i.State {
		case item.Ready:
			if i.Assignee == "" {
				d.ready++
			} else {
				d.assigned++
			}
		case item.Leased:
			d.leased++
		case item.Delayed:
			d.delayed++
		case item.Suspended:
			d.suspended++
		case item.Stored:
			d.stored++
		case item.Dead:
			d.dead++
		default:
			t.Fatalf("%s is %s", i.ID, i.State)
		}
		want[i.Warehouse] = d
	}
	if !maps.Equal(counted, want) {
		t.Fatalf("%v has %+v, want %+v", scope, counted, want)
	}
	sizes = sizes.Of(scope)
	for at, level := range sizes.Levels {
		of := r.within(r.common(item.HighestPriority-at), scope)
		oldest := int64(0)
		for _, id := range of {
			if place := r.items[id].place; oldest == 0 || place < oldest {
				oldest = place
			}
		}
		if !level.Oldest.Equal(fromMicro(oldest)) || level.Ready != int64(len(of)) {
			t.Fatalf("level %d of %v is %+v, want %v since %d", item.HighestPriority-at, scope, level, of, oldest)
		}
	}
}

func (r *modelRun) read(t *rapid.T, s *redis.Script, args ...any) []string {
	reply, err := r.line.run(context.Background(), s, r.line.all, append([]any{modelEpoch, r.line.now()}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := texts(reply)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// within are the ids of those items that the scope has.
func (m *model) within(items []*modelItem, scope item.Scope) []string {
	var out []string
	for _, i := range items {
		if scope.Has(i.Warehouse) {
			out = append(out, i.ID)
		}
	}
	return out
}

// listed is what a list of a state has.
func (m *model) listed(state item.State, scope item.Scope) []string {
	var out []string
	switch state {
	case item.Ready:
		for level := item.HighestPriority; level >= item.LowestPriority; level-- {
			out = append(out, m.within(m.common(level), scope)...)
		}
	case item.Assigned:
		for level := item.HighestPriority; level >= item.LowestPriority; level-- {
			out = append(out, m.within(m.own(level), scope)...)
		}
		slices.SortStableFunc(out, func(a, b string) int {
			// As members of a set: a space stands behind the name.
			return cmp.Compare(m.items[a].Assignee+" ", m.items[b].Assignee+" ")
		})
	default:
		for _, i := range m.timed(state, scope) {
			out = append(out, i.ID)
		}
	}
	return out
}
