package codec_test

import (
	"math"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// A step has one upper bound: the lower one of the filter's end and the page's place. With two bounds PostgreSQL
// began at the latest notice and read all notices down to the filter's end.
func TestLookBeginsAtTheLowerBound(t *testing.T) {
	t.Parallel()
	hour := func(h int) time.Time { return time.Date(2026, 11, 1, h, 0, 0, 0, time.UTC) }
	place := ledger.NoticePlace{At: hour(5), N: 7, ID: "n_1"}
	for name, c := range map[string]struct {
		filter ledger.NoticeFilter
		at, n  int64
		id     string
	}{
		"neither":              {ledger.NoticeFilter{}, math.MaxInt64, math.MaxInt64, ""},
		"a page":               {ledger.NoticeFilter{Before: place}, hour(5).UnixMicro(), 7, "n_1"},
		"an end":               {ledger.NoticeFilter{To: hour(3)}, hour(3).UnixMicro(), math.MinInt64, ""},
		"an end before a page": {ledger.NoticeFilter{To: hour(3), Before: place}, hour(3).UnixMicro(), math.MinInt64, ""},
		"an end with a page":   {ledger.NoticeFilter{To: hour(5), Before: place}, hour(5).UnixMicro(), math.MinInt64, ""},
		"the oldest first":     {ledger.NoticeFilter{Oldest: true}, codec.Micros(time.Time{}), math.MinInt64, ""},
		"a begin":              {ledger.NoticeFilter{Oldest: true, From: hour(3)}, hour(3).UnixMicro(), math.MinInt64, ""},
		"a page after a begin": {ledger.NoticeFilter{Oldest: true, From: hour(3), Before: place}, hour(5).UnixMicro(), 7, "n_1"},
		"a page before an end": {ledger.NoticeFilter{To: hour(6), Before: place}, hour(5).UnixMicro(), 7, "n_1"},
	} {
		a, more := codec.NewSearch(c.filter).Next()
		if !more || a.At != c.at || a.N != c.n || a.ID != c.id {
			t.Errorf("%s: the look begins before %d, %d, %q", name, a.At, a.N, a.ID)
		}
	}
}
