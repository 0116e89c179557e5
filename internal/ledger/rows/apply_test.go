package rows

import (
	"testing"
	"time"

	"tallyman/internal/item"
)

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
