package codec_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/notice"
)

// A search with too few matches ends at its bound, and the next one continues behind that place.
func TestSearchStops(t *testing.T) {
	t.Parallel()
	const there = ledger.MostLookedAt + 3000
	f := ledger.NoticeFilter{Limit: 50}
	var looked []int
	for page := 0; ; page++ {
		found, n := search(t, f, there, func(int) bool { return false })
		looked = append(looked, n)
		if found.Stopped != (page == 0) {
			t.Fatalf("page %d: %+v", page, found)
		}
		if f.Before = found.Next; f.Before == (ledger.NoticePlace{}) {
			break
		}
	}
	if want := []int{ledger.MostLookedAt, there - ledger.MostLookedAt}; !slices.Equal(looked, want) {
		t.Errorf("looked at %v, want %v", looked, want)
	}
}

// Pages have every matching notice once, in order, whatever matches.
func TestSearchProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		there := rapid.IntRange(0, 3000).Draw(t, "there")
		every := rapid.IntRange(1, 200).Draw(t, "every")
		f := ledger.NoticeFilter{Limit: rapid.IntRange(1, 300).Draw(t, "limit")}
		matches := func(n int) bool { return n%every == 0 }
		var got, want []string
		for n := there; n > 0; n-- {
			if matches(n) {
				want = append(want, fmt.Sprint("n_", n))
			}
		}
		for page := 0; page <= there; page++ {
			found, _ := search(t, f, there, matches)
			for _, n := range found.Notices {
				got = append(got, n.ID)
			}
			f.Before = found.Next
			if f.Before == (ledger.NoticePlace{}) {
				break
			}
			if len(found.Notices) != f.Limit || found.Stopped {
				t.Fatalf("a page of %d with more behind it", len(found.Notices))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// search reads the notices 1 … there, and returns the page and how many notices it read.
func search(t rapid.TB, f ledger.NoticeFilter, there int, matches func(n int) bool) (found ledger.NoticePage, looked int) {
	found, err := codec.NewSearch(f).Run(func(a *codec.LookArgs) (list []codec.Candidate, full bool, err error) {
		for n := int(min(a.At-1, int64(there))); n > 0 && len(list) < a.Limit; n-- {
			l := codec.Candidate{At: int64(n), ID: fmt.Sprint("n_", n)}
			if matches(n) {
				if l.Body, err = notice.Marshal(&notice.Notice{ID: l.ID, CreatedAt: time.UnixMicro(int64(n))}); err != nil {
					return nil, false, err
				}
			}
			list = append(list, l)
		}
		looked += len(list)
		return list, len(list) == a.Limit, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, looked
}
