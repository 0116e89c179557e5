package push

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/delivery"
	"tallyman/sinks"
)

// Whatever the attempts before and the chance, a backoff lies in its window, which doubles from 1 s to 5 m, and is
// never at once.
func TestBackoffBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(0, math.MaxInt), rapid.Just(math.MaxInt32)).Draw(t, "before")
		chance := rapid.OneOf(rapid.Float64Range(0, 0.999999), rapid.Just(math.Nextafter(1, 0))).Draw(t, "chance")
		window := 5 * time.Minute
		if seconds := math.Pow(2, float64(before)); seconds < 300 {
			window = time.Duration(seconds) * time.Second
		}
		if got := backoff(before, chance); got < 100*time.Millisecond || got > window {
			t.Fatalf("after %d attempts and by chance %v it is %s, the window is %s", before, chance, got, window)
		}
		if again := backoff(before+1&math.MaxInt, chance); before < 1<<40 && again < backoff(before, chance) {
			t.Fatalf("after one attempt more it is less: %s", again)
		}
	})
}

// Full jitter: every part of the window is as likely as the others.
func TestBackoffIsSpread(t *testing.T) {
	t.Parallel()
	const parts, draws = 10, 1000
	for _, before := range []int{0, 3, 20} {
		window := min(time.Second<<before, 5*time.Minute) - 100*time.Millisecond
		var hits [parts]int
		for i := range draws {
			at := backoff(before, (float64(i)+0.5)/draws) - 100*time.Millisecond
			hits[min(int(at*parts/window), parts-1)]++
		}
		for part, n := range hits {
			if n < draws/parts-2 || n > draws/parts+2 {
				t.Errorf("after %d attempts part %d of the window has %d of %d", before, part, n, draws)
			}
		}
	}
}

// The pause that a channel asks for is a minimum, up to an hour.
func TestAskedIsAMinimum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := delivery.PushClaim{Strategy: delivery.Strategy{Kind: delivery.Important}, Attempts: rapid.IntRange(0, 30).Draw(t, "attempts")}
		wait := time.Duration(rapid.Int64().Draw(t, "asked"))
		err := &sinks.LaterError{After: wait, Err: errCut}
		got := transient(&c, err, delivery.Attempt{}, rapid.Float64Range(0, 0.99).Draw(t, "chance"))
		if got.After < min(wait, time.Hour) || got.After > max(min(wait, time.Hour), 5*time.Minute) {
			t.Fatalf("asked for %s, got %s", wait, got.After)
		}
	})
}

// Of several answers for one delivery that wait for the ledger, one is recorded: that it was sent, else the latest
// claim's.
func TestLatest(t *testing.T) {
	t.Parallel()
	kinds := rapid.SampledFrom([]delivery.SettleKind{delivery.SettleSent, delivery.SettleFailed, delivery.SettleAgain, delivery.SettleRelease})
	rapid.Check(t, func(t *rapid.T) {
		var list []delivery.Settlement
		for range rapid.IntRange(0, 12).Draw(t, "answers") {
			list = append(list, delivery.Settlement{Seq: rapid.Int64Range(1, 4).Draw(t, "seq"), Token: rapid.Int64Range(1, 3).Draw(t, "token"), Kind: kinds.Draw(t, "kind")})
		}
		kept := latest(slices.Clone(list))
		for seq := range int64(5) {
			var of, is []delivery.Settlement
			for _, s := range list {
				if s.Seq == seq {
					of = append(of, s)
				}
			}
			for _, s := range kept {
				if s.Seq == seq {
					is = append(is, s)
				}
			}
			if len(of) == 0 && len(is) == 0 {
				continue
			}
			sent := slices.ContainsFunc(of, func(s delivery.Settlement) bool { return s.Kind == delivery.SettleSent })
			if len(is) != 1 || sent && is[0].Kind != delivery.SettleSent {
				t.Fatalf("of %+v was kept %+v", of, is)
			}
			if !sent && slices.ContainsFunc(of, func(s delivery.Settlement) bool { return s.Token > is[0].Token }) {
				t.Fatalf("of %+v was kept %+v", of, is)
			}
		}
	})
}
