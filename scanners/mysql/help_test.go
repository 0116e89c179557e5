package mysql_test

import (
	"errors"
	"strings"
	"testing"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
)

func prepare(t testing.TB, s scannertest.Preparer, sql string) scanners.PreparedProbe {
	t.Helper()
	return scannertest.Prepare(t, s, sql)
}

func one(t testing.TB, s scannertest.Preparer, sql string) string {
	t.Helper()
	return scannertest.One(t, s, sql, nil)
}

func ignore(*row.Row) error { return nil }

func wantCode(t testing.TB, what string, err error, code scanners.Code, says string) {
	t.Helper()
	var e *scanners.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: want %s that says %q, got %v", what, code, says, err)
	}
}
