package codec

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

func TestApply(t *testing.T) {
	t.Parallel()
	at := func(n int64) time.Time { return time.UnixMicro(n).UTC() }
	entries := []item.Moves{
		{Position: 4, List: []item.Move{{Seq: 1, N: 1, To: item.Leased}}},
		{Position: 5, List: []item.Move{{Seq: 9, N: 1, At: at(5), To: item.Leased, Attempt: 1}, {Seq: 2, N: 3, At: at(5), To: item.Leased}}},
		{Position: 8, List: []item.Move{{Seq: 9, N: 2, At: at(8), To: item.Done, Attempt: 1}, {Seq: 2, N: 4, At: at(8), To: item.Suspended, Suspends: 1, Due: at(50)}}},
		{Position: 9, List: []item.Move{{Seq: 3, N: 7, At: at(9), To: item.Removed}, {Seq: 4, N: 1, At: at(9), To: item.Refused}}},
	}
	a := NewApply(entries, 4)
	equal(t, int64(9), a.Position)
	seqs := []int64{}
	for _, trail := range a.Traces {
		seqs = append(seqs, trail.Seq)
	}
	equal(t, []int64{2, 3, 4, 9}, seqs)
	equal(t, Trail{Seq: 9, At: 8, Moves: []byte("1 5 - l 1 0 0 0 - - - -\n2 8 - d 1 0 0 0 - - - -\n")}, a.Traces[3])
	equal(t, []Standing{{Seq: 2, N: 4, State: "s", Suspends: 1, Due: 50}}, a.Changed)
	equal(t, []Standing{{Seq: 9, N: 2, State: "d", Attempt: 1}}, a.Done)
	equal(t, []Standing{{Seq: 3, N: 7, State: "m"}, {Seq: 4, N: 1, State: "f"}}, a.Early)

	equal(t, Apply{Position: 9}, *NewApply(entries, 9))
	equal(t, Apply{Position: 0}, *NewApply(nil, 0))
}
