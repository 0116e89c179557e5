package postgres_test

import (
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// TestBrokenConnectionsOfPushes breaks the connection at every stage of claims and settles, which are repeated until they are
// answered. Each attempt is recorded once.
func TestBrokenConnectionsOfPushes(t *testing.T) {
	t.Parallel()
	direct := migrated(t)
	straight := open(t, direct, ledger.Options{})
	prepare(t, straight)
	c, err := straight.Claim(t.Context(), "r", "", at(1), "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	const deliveries = 60
	run := commitOf(c, 1, deliveries)
	for i := range run.Notices {
		run.Notices[i].Sinks[0].Strategy = &delivery.Strategy{Kind: delivery.Important}
	}
	if _, err := straight.Commit(t.Context(), c, run); err != nil {
		t.Fatal(err)
	}

	line := newLine(t, direct)
	l := open(t, line.url, ledger.Options{MaxConnections: 2})
	attempts := map[int64]int{}
	for sent := 0; sent < deliveries; {
		var claims delivery.Claims
		line.until(t, func() (err error) {
			claims, err = l.ClaimPushes(t.Context(), "gateway", "a", 0, 10) // no lease: what was claimed and not answered is free again
			return err
		})
		var ends []delivery.Settled
		for _, d := range claims.List {
			end := delivery.Settled{Seq: d.Seq, Token: d.Token, Kind: delivery.SettleAgain, Error: "no route"}
			if d.Attempts == int(d.Seq%3) {
				end.Kind = delivery.SettleSent
				sent++
			}
			attempts[d.Seq]++
			ends = append(ends, end)
		}
		line.until(t, func() error { return l.SettlePushes(t.Context(), ends) })
	}
	t.Logf("%d calls broke", line.broken)
	if line.broken == 0 {
		t.Error("no call broke: the test shows nothing")
	}
	list, err := straight.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: "gateway", Limit: 2 * deliveries})
	if err != nil || len(list) != deliveries {
		t.Fatalf("%d deliveries, %v", len(list), err)
	}
	for _, d := range list {
		if d.State != ledger.DeliverySent || d.Attempts != attempts[d.Seq] || d.Attempts != int(d.Seq%3)+1 {
			t.Errorf("delivery %d is %s after %d attempts of %d", d.Seq, d.State, d.Attempts, attempts[d.Seq])
		}
	}
}
