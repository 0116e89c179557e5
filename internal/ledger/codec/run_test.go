package codec_test

import (
	"testing"
	"time"

	"tallyman/internal/ledger/codec"
)

// TestRunsOfARow checks that each run of a row has its own due time, start and duration.
func TestRunsOfARow(t *testing.T) {
	t.Parallel()
	const first = 1_700_000_000_000_000
	row := codec.Run{
		Rule: "r", Due: first, LastDue: first + 180_000_000, Started: first + 180_000_900, Duration: 44, Outcome: "ok", Rows: 3,
		Earlier: "0s,100,11;60s,-200,22;120500000,300,33;",
	}
	all, err := row.All()
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	at := func(us int64) time.Time { return time.UnixMicro(first + us).UTC() }
	for i, want := range []struct {
		due, started time.Time
		took         time.Duration
	}{
		{at(180_000_000), at(180_000_900), 44 * time.Microsecond},
		{at(120_500_000), at(120_500_300), 33 * time.Microsecond},
		{at(60_000_000), at(59_999_800), 22 * time.Microsecond},
		{at(0), at(100), 11 * time.Microsecond},
	} {
		if got := all[i]; !got.Due.Equal(want.due) || !got.Started.Equal(want.started) || got.Duration != want.took || got.Rows != 3 {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
}

func FuzzEarlierRuns(f *testing.F) {
	for _, seed := range []string{"", "0s,1,2;", "60s,-1,2;1500000,3,4;", "1,2", "a,b,c;", ";"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		row := codec.Run{Earlier: text}
		all, err := row.All()
		if err == nil && len(all) == 0 {
			t.Errorf("%q has no run", text)
		}
		briefs, briefErr := codec.Briefs("ok:" + text + ":1")
		if err == nil && (briefErr != nil || len(briefs) != min(len(all), 20)) {
			t.Errorf("%q has %d runs, and %d in short: %v", text, len(all), len(briefs), briefErr)
		}
	})
}
