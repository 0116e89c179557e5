package notice_test

import (
	"testing"
	"time"

	"tallyman/internal/notice"
)

func TestOriginIsWhatMadeTheNotice(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 1, 0, 10, 0, 123456000, time.UTC)
	run := notice.RunOrigin("a", "b", at)
	n := &notice.Notice{ID: "n_1", Rule: "a", Scope: "b", Status: notice.Firing, Episode: "1", CreatedAt: at}
	if n.Origin() != run {
		t.Errorf("the notice is of %s, the run is %s", n.Origin(), run)
	}
	resolved := &notice.Notice{ID: "n_2", Rule: "a", Scope: "b", Status: notice.Resolved, Episode: "1", CreatedAt: at.In(time.FixedZone("", 3600))}
	if resolved.Origin() != run {
		t.Error("another notice of the run has another origin")
	}
	sent := []*notice.Notice{{ID: "n_3", Status: notice.Sent, Episode: "r1", CreatedAt: at}, {ID: "n_4", Status: notice.Sent, Episode: "r1", CreatedAt: at.Add(1)}}
	if sent[0].Origin() != sent[1].Origin() || sent[0].Origin() == run {
		t.Error("the notices of one request have one origin of their own")
	}
	for name, other := range map[string]notice.Origin{
		"another time": notice.RunOrigin("a", "b", at.Add(time.Microsecond)), "another cut": notice.RunOrigin("ab", "", at),
		"another scope": notice.RunOrigin("a", "c", at),
	} {
		if other == run {
			t.Errorf("%s gives the same origin", name)
		}
	}
	if got := len(run.String()); got != 32 {
		t.Errorf("an id has %d digits, W3C wants 32", got)
	}
}
