package postgres

import (
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// What a node holds that froze or was cut off is free after a while, unless the URL says otherwise.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	if _, err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	for add, want := range map[string]string{"": "30s", "&idle_in_transaction_session_timeout=7s": "7s"} {
		l, err := Open(t.Context(), url+add, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		err = l.pool.QueryRow(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&got)
		if err != nil || got != want {
			t.Errorf("with %q the timeout is %q, want %q: %v", add, got, want, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
