package item

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/notice"
)

func TestEventOfAMove(t *testing.T) {
	t.Parallel()
	type before struct {
		failures int
		assignee string
	}
	for what, c := range map[string]struct {
		before before
		move   Move
		want   Event
	}{
		"done":                           {move: Move{From: Leased, To: Done}, want: EventDone},
		"done while assigned anew":       {move: Move{From: Leased, To: Done, Assignee: "w"}, want: EventDone},
		"removed":                        {move: Move{From: Suspended, To: Removed}, want: EventRemoved},
		"refused":                        {move: Move{From: Ready, To: Refused}},
		"dead":                           {before: before{failures: 4}, move: Move{From: Leased, To: Dead, Failures: 5}, want: EventDead},
		"suspended over":                 {move: Move{From: Suspended, To: Ready, Suspends: 1}, want: EventReadyAgain},
		"stored over":                    {move: Move{From: Stored, To: Ready}, want: EventReadyAgain},
		"requeued":                       {before: before{failures: 5}, move: Move{From: Dead, To: Ready}, want: EventReadyAgain},
		"nacked":                         {before: before{failures: 1}, move: Move{From: Leased, To: Ready, Failures: 2}, want: EventReadyAgain},
		"nacked with a delay":            {before: before{failures: 1}, move: Move{From: Leased, To: Delayed, Failures: 2}},
		"and its delay is over":          {before: before{failures: 2}, move: Move{From: Delayed, To: Ready, Failures: 2}, want: EventReadyAgain},
		"pushed with a delay that ended": {move: Move{From: Delayed, To: Ready}},
		"released":                       {before: before{failures: 2}, move: Move{From: Leased, To: Ready, Failures: 2}},
		"leased":                         {move: Move{From: Ready, To: Leased}},
		"opened again":                   {move: Move{From: Done, To: Ready}},
		"assigned":                       {move: Move{From: Ready, To: Ready, Assignee: "w"}, want: EventAssigned},
		"assigned to another":            {before: before{assignee: "v"}, move: Move{From: Suspended, To: Suspended, Assignee: "w"}, want: EventAssigned},
		"passed on":                      {move: Move{From: Leased, To: Ready, Assignee: "w"}, want: EventAssigned},
		"taken by its assignee":          {before: before{assignee: "w"}, move: Move{From: Ready, To: Leased, Assignee: "w"}},
		"back, and its assignee's":       {before: before{assignee: "w"}, move: Move{From: Suspended, To: Ready, Assignee: "w"}, want: EventReadyAgain},
		"anybody's again":                {before: before{assignee: "w"}, move: Move{From: Ready, To: Ready}},
	} {
		if got := c.move.Event(c.before.failures, c.before.assignee); got != c.want {
			t.Errorf("%s: %q", what, got)
		}
		if only := (&Events{On: []Event{c.want}}); c.want != "" && !only.MayHave(&c.move) {
			t.Errorf("%s: it is not looked for", what)
		}
	}
}

func TestToldIsReadAgain(t *testing.T) {
	t.Parallel()
	told := Told{Queue: "q", ID: "i", Event: EventDead, Payload: []byte(`{}`), Move: Move{N: 7, At: time.UnixMicro(1), Note: "why"}}
	want := Told{Queue: "q", ID: "i", Event: EventDead, Move: Move{N: 7}}
	if diff := cmp.Diff(want, ReadTold(told.Fields())); diff != "" {
		t.Error(diff)
	}
	for i, f := range told.Fields()[1:] {
		if before := told.Fields()[i]; before.Name >= f.Name {
			t.Errorf("%s comes behind %s", f.Name, before.Name)
		}
	}
	if got := ReadTold([]notice.Field{{Name: "move", Value: "seven"}, {Name: "queue", Value: int64(1)}}); !cmp.Equal(got, Told{}) {
		t.Errorf("%+v", got)
	}
}
