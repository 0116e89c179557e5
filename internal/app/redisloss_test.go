package app_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
)

// loss is a way in which Redis loses what it held.
type loss struct {
	addr          string // that the site uses
	halfway, lose func()
}

// losses are the ways; each begins with servers that hold nothing.
var losses = map[string]func(*testing.T) loss{
	"flushall":                                flushed,
	"kill -9 and restart":                     restarted,
	"restart from an older snapshot":          fromSnapshot,
	"promotion of a replica that lags behind": promoted,
}

func flushed(t *testing.T) loss {
	t.Helper()
	r := testenv.Redis(t)
	return loss{r.Addr, func() {}, func() {
		if err := r.Client(t).FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}}
}

func restarted(t *testing.T) loss {
	t.Helper()
	r := testenv.Redis(t)
	return loss{r.Addr, func() {}, r.Restart}
}

func fromSnapshot(t *testing.T) loss {
	t.Helper()
	r := testenv.Redis(t)
	return loss{r.Addr, r.Save, r.Restart}
}

func promoted(t *testing.T) loss {
	t.Helper()
	primary := testenv.Redis(t)
	replica := testenv.Replica(t, primary)
	proxy := testenv.NewProxy(t, primary.Addr)
	return loss{
		proxy.Addr,
		func() { primary.WaitForReplica(replica); replica.StopReplication() },
		func() { primary.Kill(); replica.Promote(); proxy.Point(replica.Addr) },
	}
}

// backWithin is how long after the next contact the inboxes are back, and the time to get in contact.
const backWithin = 5*time.Second + 3*time.Second

// A Redis that lost what it held is written back from the ledger: the same notices in the same order; cursors of before
// start anew, and those who subscribed later get nothing from before.
func TestRedisLosesWhatItHeld(t *testing.T) {
	t.Parallel()
	for name, prepare := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.cfg.Ledger = config.Ledger{Driver: config.Postgres, URL: config.NewSecret(testenv.Postgres(t)), Retention: 24 * time.Hour}
			index := prepare(t)
			s.cfg.Redis = config.Redis{URL: config.RedisURL{URLs: []config.Secret{config.NewSecret("redis://" + index.addr)}}, Prefix: "tallyman:"}
			wms := s.postgresWMS()
			s.rule("stock.yaml", stockRule)
			n := s.start("one")

			wms.exec(`INSERT INTO bin_stock SELECT 119240, 'A-' || i, 'S1', -i FROM generate_series(1, 20) i`)
			n.await(nil, 20)
			index.halfway()
			wms.exec(`INSERT INTO bin_stock SELECT 119240, 'B-' || i, 'S1', -i FROM generate_series(1, 10) i`)
			before := n.await(nil, 30)
			subscription := `{"type":"REP_NOTICE","warehouse":"*","subscriber":"role:late"}`
			if code, body := n.do(http.MethodPost, "/api/v1/subscriptions", "application/json", subscription); code != http.StatusCreated {
				t.Fatalf("subscribe: %d %s", code, body)
			}

			index.lose()
			var after pageJSON
			lost := time.Now()
			testenv.Eventually(t, func() bool {
				var code int
				code, after = n.poll(url.Values{"after": {before.Cursor}})
				return code == http.StatusOK && after.Reset
			}, backWithin)
			t.Logf("back after %s", time.Since(lost))
			if len(after.Notices) != len(before.Notices) {
				t.Fatalf("%d of %d notices are back", len(after.Notices), len(before.Notices))
			}
			for i := range after.Notices {
				if after.Notices[i].ID != before.Notices[i].ID {
					t.Fatalf("notice %d is %s, was %s", i, after.Notices[i].ID, before.Notices[i].ID)
				}
			}
			if _, late := n.poll(url.Values{"subscriber": {"role:late"}}); len(late.Notices) != 0 {
				t.Fatalf("who subscribed later got %d notices of before", len(late.Notices))
			}
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'C-01', 'S1', -1)`)
			n.await(url.Values{"after": {after.Cursor}}, 1)
			n.await(url.Values{"subscriber": {"role:late"}}, 1)
		})
	}
}
