package book_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/sinks/book"
)

// ledger has an entry for each user. The phone of an entry is the number of queries so far.
type ledger struct {
	asked []string
	err   error
}

func (l *ledger) Subscribers(_ context.Context, ids []string) (map[string]delivery.Subscriber, error) {
	l.asked = append(l.asked, strings.Join(ids, " "))
	found := map[string]delivery.Subscriber{}
	for _, id := range ids {
		if strings.HasPrefix(id, "user:") {
			found[id] = delivery.Subscriber{ID: id, Phone: fmt.Sprint(len(l.asked))}
		}
	}
	return found, l.err
}

func TestEntriesAreRememberedForAWhile(t *testing.T) {
	t.Parallel()
	l, now := &ledger{}, time.Unix(0, 0)
	b := book.New(l, func() time.Time { return now })
	of := func(recipients ...string) []delivery.Subscriber {
		t.Helper()
		got, err := b.Of(t.Context(), recipients)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := func(got []delivery.Subscriber, want ...delivery.Subscriber) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
	ann, role := delivery.Subscriber{ID: "user:ann", Phone: "1"}, delivery.Subscriber{ID: "role:keeper"}
	want(of())
	want(of("role:keeper", "user:ann"), role, ann)
	want(of("user:ann", "user:ben", "user:ann"), ann, delivery.Subscriber{ID: "user:ben", Phone: "2"}, ann)
	now = now.Add(book.Fresh - time.Nanosecond)
	want(of("user:ann"), ann)
	now = now.Add(time.Nanosecond)
	ann.Phone = "3"
	want(of("role:keeper", "user:ann"), role, ann)
	if diff := cmp.Diff([]string{"role:keeper user:ann", "user:ben", "role:keeper user:ann"}, l.asked); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	l.err = errors.New("away")
	if _, err := b.Of(t.Context(), []string{"user:new"}); !errors.Is(err, l.err) {
		t.Error(err)
	}
	want(of("user:ann"), ann)
}

func TestManyEntriesAreForgotten(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	b := book.New(l, time.Now)
	many := make([]string, 6000)
	for round := range 2 {
		for i := range many {
			many[i] = fmt.Sprintf("user:%d-%d", round, i)
		}
		list, err := b.Of(t.Context(), slices.Concat(many, []string{"user:last"}))
		if err != nil || list[0].ID != many[0] || list[6000].ID != "user:last" || list[6000].Phone == "" {
			t.Fatalf("%v %v", list[6000], err)
		}
	}
}
