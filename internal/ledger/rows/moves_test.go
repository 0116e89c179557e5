package rows

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallyman/internal/item"
)

func TestMovesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	states := []item.State{
		"", item.Ready, item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead, item.Done, item.Removed, item.Refused,
	}
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.Custom(func(t *rapid.T) time.Time { return Time(rapid.Int64Range(0, 1<<52).Draw(t, "µs")) })
		counts := rapid.IntRange(0, 1<<31-1)
		texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "-", " ", "\n", "%2D", "w-1", "\x00\xff"}))
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) item.Move {
			return item.Move{
				Seq: 7, N: rapid.Int64Min(0).Draw(t, "n"), At: times.Draw(t, "at"), From: rapid.SampledFrom(states).Draw(t, "from"),
				To: rapid.SampledFrom(states).Draw(t, "to"), Attempt: counts.Draw(t, "attempt"), Failures: counts.Draw(t, "failures"),
				Suspends: counts.Draw(t, "suspends"), Due: times.Draw(t, "due"), Assignee: texts.Draw(t, "assignee"),
				By: texts.Draw(t, "by"), Node: texts.Draw(t, "node"), Note: texts.Draw(t, "note"),
			}
		})).Draw(t, "moves")
		var text []byte
		for i := range want {
			text = appendMove(text, &want[i])
		}
		got, err := ParseMoves(nil, 7, string(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, append([]item.Move{}, got...)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", text, diff)
		}
	})
}

func TestMovesThatNobodyHasWritten(t *testing.T) {
	t.Parallel()
	good := "1 5 r l 1 0 0 9 - w-1 n1 -"
	if _, err := ParseMoves(nil, 1, good+"\n"+good+"\n"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"\n", "1", good + " -", strings.Replace(good, "1 5", "x 5", 1), strings.Replace(good, " r ", " ? ", 1),
		strings.Replace(good, " l ", " L ", 1), strings.Replace(good, "w-1", "%zz", 1), strings.Replace(good, " 9 ", "  ", 1),
	} {
		if _, err := ParseMoves(nil, 1, bad); !errors.Is(err, errMove) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParseMoves(f *testing.F) {
	f.Add("1 5 r l 1 0 0 9 - w-1 n1 -\n2 6 l d 1 0 0 0 a %2D n1 a+note\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		moves, err := ParseMoves(nil, 1, text)
		if err != nil {
			return
		}
		var again []byte
		for i := range moves {
			again = appendMove(again, &moves[i])
		}
		same, err := ParseMoves(nil, 1, string(again))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(moves, same); diff != "" {
			t.Fatal(diff)
		}
	})
}
