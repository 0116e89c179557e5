package postgres_test

import (
	"testing"
	"time"

	"tallyman/internal/ledger"
)

// wrongServer is a ledger whose server is an hour ahead of its nodes.
const wrongServer = `CREATE OR REPLACE FUNCTION ledger_now(given bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
	$$ SELECT coalesce(given, (extract(epoch FROM clock_timestamp() + interval '1 hour') * 1000000)::bigint) $$`

// A node that asks for the server's time gets that, and the end of another's lease by its own.
func TestTheServersClockIsAnHourAhead(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	execute(t, url, wrongServer)
	l := open(t, url, ledger.Options{})
	now, err := l.Now(t.Context())
	if ahead := time.Until(now).Round(time.Minute); err != nil || ahead != time.Hour {
		t.Errorf("the server is %s ahead: %v", ahead, err)
	}
	if err := l.BeginEpoch(t.Context(), "inbox", "", ledger.IndexState{Epoch: "1-a"}, "a", 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	s, err := l.IndexState(t.Context(), "inbox")
	if left := time.Until(s.Lease); err != nil || left > 10*time.Minute || left < 9*time.Minute {
		t.Errorf("of 10 minutes %s are left: %v", left, err)
	}
}
