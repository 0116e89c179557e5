package inbox_test

import (
	"slices"
	"testing"

	"tallyman/internal/api/inbox"
	"tallyman/sinks/inbox/page"
)

// FuzzPoll holds what every query that passes must be.
func FuzzPoll(f *testing.F) {
	f.Add("warehouse=119240&subscriber=user:1&subscriber=role:k&after=abc&limit=20&wait=25s&type=A")
	f.Add("warehouse=1&subscriber=user:a%40b&since=1780272600000")
	f.Add("warehouse=%zz&&=&subscriber")
	f.Fuzz(func(t *testing.T, raw string) {
		q, wait, prob := inbox.ParsePoll(raw)
		if prob != nil {
			if prob.Status != 400 || prob.Code == "" || prob.Detail == "" {
				t.Errorf("%q: %+v", raw, prob)
			}
			return
		}
		if q.Warehouse == "" || len(q.Subscribers) == 0 || q.Limit < 1 || q.Limit > page.MaxLimit || q.Since < 0 || wait < 0 || wait > 60e9 {
			t.Errorf("%q passes as %+v", raw, q)
		}
		if normal, err := q.Normal(); err != nil || !slices.Equal(normal.Subscribers, q.Subscribers) || !slices.Equal(normal.Types, q.Types) {
			t.Errorf("%q: the inbox makes %+v of %+v, %v", raw, normal, q, err)
		}
	})
}

// TestTagsOfDifferentRequestsDiffer looks for fields that run into each other.
func TestTagsOfDifferentRequestsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, raw := range []string{
		"warehouse=a&subscriber=user:b", "warehouse=ab&subscriber=user:b", "warehouse=a&subscriber=user:bc",
		"warehouse=a&subscriber=user:b&type=c", "warehouse=a&subscriber=user:b&type=c&type=d", "warehouse=a&subscriber=user:b&type=cd",
		"warehouse=a&subscriber=user:b&after=c", "warehouse=a&subscriber=user:b&since=1", "warehouse=a&subscriber=user:b&limit=1",
		"warehouse=a&subscriber=user:b&subscriber=user:c",
	} {
		tag := inbox.TagOf(t, raw)
		if other, ok := seen[tag]; ok {
			t.Errorf("%s and %s share %s", raw, other, tag)
		}
		seen[tag] = raw
	}
	if a, b := inbox.TagOf(t, "warehouse=a&subscriber=user:b&subscriber=user:c&wait=1s"), inbox.TagOf(t, "subscriber=user:c&subscriber=user:b&warehouse=a&limit=50"); a != b {
		t.Errorf("the same question has the tags %s and %s", a, b)
	}
}
