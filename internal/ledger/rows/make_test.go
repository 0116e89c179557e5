package rows

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

func TestMakePushes(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	timed := ledger.Target{Sink: "gateway", Strategy: &delivery.Strategy{Kind: delivery.Timed, Within: time.Hour}}
	late := ledger.Target{Sink: "sms", Strategy: &delivery.Strategy{Kind: delivery.Delayed, At: created.Add(time.Minute), Retry: 3, Unless: delivery.UnlessRead}}
	one, same := newNotice("n1", "w", timed, late), newNotice("n2", "w", timed)
	for _, n := range []*notice.Notice{one.Notice, same.Notice} {
		n.Rule, n.Key, n.CreatedAt, n.ExpiresAt = "r", "k", created, created.Add(30*time.Minute)
	}
	same.Notice.ExpiresAt = created.Add(2 * time.Hour)
	p := PlanOf([]ledger.NewNotice{one, same})
	finding := FindingHash("r", "", "k")
	equal(t, []int64{finding, finding}, p.Concerned())
	us := func(d time.Duration) int64 { return created.Add(d).UnixMicro() }
	first := Waiting{
		Due: us(0), Created: us(0), First: us(0), Deadline: us(time.Hour), Ends: us(30 * time.Minute), Finding: &finding,
		Strategy: Strategy{Kind: "timed", Within: time.Hour.Microseconds()},
	}
	second := first
	second.Due, second.Ends = Behind, us(time.Hour)
	other := Waiting{
		Due: us(time.Minute), Created: us(0), First: us(time.Minute), Ends: us(30 * time.Minute), Finding: &finding,
		Strategy: Strategy{Kind: "delayed", Unless: "read", At: us(time.Minute), Retry: 3},
	}
	equal(t, []Delivery{{0, 0, "", &first}, {0, 1, "", &other}, {1, 0, "", &second}}, p.Make(&Known{}).Deliveries)
	equal(t, *late.Strategy, other.Strategy.Strategy())

	// Of what is open, only the same finding in the same lane stands before it.
	before := []Open{{Seq: 1, Finding: finding, Lane: ledger.Lane{Sink: "sms"}}, {Seq: 2, Finding: 7, Lane: ledger.Lane{Sink: "gateway"}}}
	made := p.Make(&Known{Open: before})
	equal(t, []int64{us(0), Behind, Behind}, []int64{made.Deliveries[0].Push.Due, made.Deliveries[1].Push.Due, made.Deliveries[2].Push.Due})
	equal(t, 0, len(made.Canceled))
}

func TestFindingsOf(t *testing.T) {
	t.Parallel()
	lowest, highest := FindingsOf("r", "s")
	for _, key := range []string{"", "k", "another"} {
		if h := FindingHash("r", "s", key); h < lowest || h > highest {
			t.Errorf("the number of %q lies outside", key)
		}
	}
	if h := FindingHash("r", "t", "k"); h >= lowest && h <= highest {
		t.Error("another scope lies inside")
	}
}
