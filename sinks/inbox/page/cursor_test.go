package page_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallyman/sinks/inbox/page"
)

func TestCursorRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := page.Cursor{
			Epoch: rapid.StringMatching(`[1-9][0-9]{0,8}-[a-z2-7]{8}`).Draw(t, "epoch"),
			Score: rapid.Int64Range(0, 1<<53-1).Draw(t, "score"),
			Query: page.Hash(rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "hash")),
		}
		c.Changes = rapid.Int64Range(0, 1<<53-1).Draw(t, "changes")
		inbox := -1
		for range rapid.IntRange(0, 4).Draw(t, "inboxes") {
			inbox += rapid.IntRange(1, 300).Draw(t, "gap")
			above := rapid.Int64Range(1, 1<<53-1).Draw(t, "above")
			c.Removed = append(c.Removed, page.Removed{Inbox: inbox, Score: c.Score + above})
		}
		got, err := page.DecodeCursor(c.Encode())
		if err != nil {
			t.Fatalf("%s: %v", c.Encode(), err)
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}

func TestCursorsThatWeNeverGave(t *testing.T) {
	t.Parallel()
	good := page.Cursor{Epoch: "1-abc", Score: 1780272600000000, Changes: 1780272600000005, Query: page.Hash{1, 2, 3}, Removed: []page.Removed{{Inbox: 1, Score: 1780272600000007}}}.Encode()
	if _, err := page.DecodeCursor(good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "x", "1780272600000", good + "=", good + "A", good[:len(good)-8], "A" + good, strings.ToUpper(good), good[:10] + "\n" + good[10:],
		"-" + good[1:], strings.Repeat("A", 9000),
		page.Cursor{Epoch: "1_b", Score: 1, Changes: 1}.Encode(), page.Cursor{Score: 1, Changes: 1}.Encode(), page.Cursor{Epoch: "1-b", Score: 1 << 53, Changes: 1 << 53}.Encode(),
		page.Cursor{Epoch: "1-b", Score: 1, Changes: 1 << 53}.Encode(), page.Cursor{Epoch: "1-b", Score: 2, Changes: -1}.Encode(),
		page.Cursor{Epoch: "1-b", Removed: []page.Removed{{Inbox: 2, Score: 1}, {Inbox: 2, Score: 1}}}.Encode(),
		page.Cursor{Epoch: "1-b", Removed: []page.Removed{{Inbox: 2}}}.Encode(),
		page.Cursor{Epoch: "1-b", Removed: []page.Removed{{Inbox: 1 << 17, Score: 1}}}.Encode(),
	} {
		if c, err := page.DecodeCursor(bad); !errors.Is(err, page.ErrBadCursor) {
			t.Errorf("%q: %+v, %v", bad, c, err)
		}
	}
}

// FuzzCursor proves that nothing crashes the decoder, and that a place has one text.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(page.Cursor{Epoch: "1-abc", Score: 1, Changes: 1}.Encode())
	f.Add(page.Cursor{Epoch: "12-k3j9xq", Score: 1780272600000000, Changes: 1780272600000003, Removed: []page.Removed{{Inbox: 0, Score: 1780272600000001}, {Inbox: 3, Score: 1790272600000000}}}.Encode())
	f.Fuzz(func(t *testing.T, text string) {
		c, err := page.DecodeCursor(text)
		if err != nil {
			if !errors.Is(err, page.ErrBadCursor) {
				t.Fatal(err)
			}
			return
		}
		if again := c.Encode(); again != text {
			t.Fatalf("%q came back as %q", text, again)
		}
	})
}

func TestHashTellsQueriesApart(t *testing.T) {
	t.Parallel()
	seen := map[page.Hash]page.Query{}
	for _, q := range []page.Query{
		{Warehouse: "a"},
		{Warehouse: "a", Subscribers: []string{"user:1"}},
		{Warehouse: "a", Subscribers: []string{"user:1", "user:2"}},
		{Warehouse: "a", Types: []string{"user:1"}},
		{Warehouse: "a", Subscribers: []string{"user:1"}, Types: []string{"T"}},
		{Warehouse: "b", Subscribers: []string{"user:1"}},
		{Warehouse: "a", Subscribers: []string{"user:1"}, Unread: true},
		{Warehouse: "a", Subscribers: []string{"user:1user:2"}},
	} {
		if other, ok := seen[q.Hash()]; ok {
			t.Errorf("%+v and %+v have the same hash", q, other)
		}
		seen[q.Hash()] = q
	}
	a := page.Query{Warehouse: "a", Subscribers: []string{"user:1"}}
	b := a
	b.After, b.Since, b.Limit = "x", 5, 7
	if a.Hash() != b.Hash() {
		t.Error("where a query begins changed its hash")
	}
	typed, other, elsewhere := a, a, a
	typed.Types, other.Subscribers, elsewhere.Warehouse = []string{"T"}, []string{"user:2"}, "b"
	if h := typed.Hash(); !h.SameWarehouse(a.Hash()) || !h.SameSubscribers(a.Hash()) {
		t.Error("a filter changed more than its part of the hash")
	}
	if h := other.Hash(); !h.SameWarehouse(a.Hash()) || h.SameSubscribers(a.Hash()) {
		t.Error("subscribers changed another part of the hash")
	}
	if h := elsewhere.Hash(); h.SameWarehouse(a.Hash()) || !h.SameSubscribers(a.Hash()) || !h.SameWarehouse(page.HashWarehouse("b")) {
		t.Error("a warehouse changed another part of the hash")
	}
}

func TestNormal(t *testing.T) {
	t.Parallel()
	given := []string{"user:2", "role:k", "user:2"}
	q, err := page.Query{Warehouse: "a", Subscribers: given, Types: []string{"B", "A"}}.Normal()
	if err != nil {
		t.Fatal(err)
	}
	want := page.Query{Warehouse: "a", Subscribers: []string{"role:k", "user:2"}, Types: []string{"A", "B"}, Limit: page.DefaultLimit}
	if diff := cmp.Diff(want, q); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !slices.Equal(given, []string{"user:2", "role:k", "user:2"}) {
		t.Error("the caller's list was changed")
	}
}
