package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/item"
)

var someMoves = []item.Move{
	{Seq: 7, N: 1, From: item.Ready, To: item.Leased, Attempt: 1, Due: time.UnixMicro(1780272660000000).UTC(), By: "w1"},
	{Seq: 8, N: 1004, From: item.Leased, To: item.Dead, Attempt: 1002, Failures: 5, Suspends: 2, Assignee: "w2", By: "w2", Note: "no such bin: A 01 é\n- 100%"},
	{Seq: 9, N: 3, From: item.Ready, To: item.Ready, Assignee: "w3"},
}

func newEntry(at time.Time, node string, moves []item.Move) string {
	return fmt.Sprintf("%d %s 17\n%s", toMicro(at), orDash(node), moveLines(moves))
}

func TestEntriesReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1780272600000000).UTC()
	for _, node := range []string{"node-1", ""} {
		got, err := parseEntry(12, newEntry(at, node, someMoves))
		if err != nil {
			t.Fatal(err)
		}
		want := item.Moves{Position: 12}
		for _, m := range someMoves {
			m.At, m.Node = at, node
			want.List = append(want.List, m)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

func TestEntriesThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	const good = "1780272600000000 node 0\n7 1 r l 1 0 0 0 - w1 -"
	if _, err := parseEntry(1, good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "1780272600000000", "1780272600000000 node\n7 1 r l 1 0 0 0 - w1 -", "x node 0\n7 1 r l 1 0 0 0 - w1 -", "-5 node 0\n7 1 r l 1 0 0 0 - w1 -", // the head
		"1780272600000000 node", "1780272600000000 node 0\n", good + "\n", good + " more", strings.TrimSuffix(good, " -"),
		strings.Replace(good, "r l", "r -", 1), strings.Replace(good, "r l", "q l", 1), // no state
		strings.Replace(good, "7 1", "7 one", 1), strings.Replace(good, "7 1", "-7 1", 1), strings.Replace(good, "w1 -", "w1 %zz", 1),
	} {
		if m, err := parseEntry(1, bad); !errors.Is(err, errEntry) {
			t.Errorf("%q is %+v, %v", bad, m, err)
		}
	}
}

func FuzzEntry(f *testing.F) {
	f.Add(newEntry(time.UnixMicro(1780272600000000), "node-1", someMoves))
	f.Add("1780272600000000 - 3\n7 1 r l 1 0 0 0 - w1 a+b")
	f.Add("1 n 0\n")
	f.Fuzz(func(t *testing.T, entry string) {
		moves, err := parseEntry(1, entry)
		if err != nil {
			if !errors.Is(err, errEntry) {
				t.Errorf("%q: %v", entry, err)
			}
			return
		}
		again, err := parseEntry(1, newEntry(moves.List[0].At, moves.List[0].Node, moves.List))
		if err != nil {
			t.Fatalf("%q reads, but not as it is written again: %v", entry, err)
		}
		if diff := cmp.Diff(moves, again); diff != "" {
			t.Errorf("%q: -first +again\n%s", entry, diff)
		}
	})
}
