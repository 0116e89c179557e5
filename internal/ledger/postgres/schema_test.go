package postgres_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

func TestOpenRefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	refused := func(what string) {
		t.Helper()
		if _, err := postgres.Open(t.Context(), url, ledger.Options{}); !errors.Is(err, ledger.ErrSchema) {
			t.Fatalf("%s: got %v, want ErrSchema", what, err)
		}
	}
	refused("no schema")
	status, err := postgres.Status(t.Context(), url)
	if err != nil || len(status) == 0 || !status[0].Applied.IsZero() {
		t.Fatalf("before: %+v, %v", status, err)
	}
	refused("asked for the status only")
	applied, err := postgres.Migrate(t.Context(), url)
	if err != nil || len(applied) != len(status) {
		t.Fatalf("applied %+v, %v", applied, err)
	}
	open(t, url, ledger.Options{})
	if applied, err = postgres.Migrate(t.Context(), url); err != nil || len(applied) != 0 {
		t.Fatalf("the second time applied %+v, %v", applied, err)
	}
	status, err = postgres.Status(t.Context(), url)
	if err != nil || status[0].Applied.IsZero() {
		t.Fatalf("after: %+v, %v", status, err)
	}
	execute(t, url, "INSERT INTO ledger_schema (version_id, is_applied) VALUES (99999, true)")
	refused("a newer schema")
}

func TestNodesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	var wg sync.WaitGroup
	counts := make([]int, 3)
	for i := range counts {
		wg.Go(func() {
			applied, err := postgres.Migrate(t.Context(), url)
			if err != nil {
				t.Error(err)
			}
			counts[i] = len(applied)
		})
	}
	wg.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	status, err := postgres.Status(t.Context(), url)
	if err != nil || total != len(status) {
		t.Fatalf("%v migrations were applied, there are %d (%v)", counts, len(status), err)
	}
}

func TestErrorsHoldNoPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:s3cret@127.0.0.1:1/db?sslmode=nonsense", "postgres://u:s3cret@127.0.0.1:1/db",
		"postgres://u:s3cret@127.0.0.1:99999999/db",
	} {
		_, openErr := postgres.Open(t.Context(), url, ledger.Options{})
		_, migrateErr := postgres.Migrate(t.Context(), url)
		for _, err := range []error{openErr, migrateErr} {
			if err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}
