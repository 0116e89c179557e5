package sqlite_test

import (
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
)

// BenchmarkSends measures requests of business systems, and marks of readers.
func BenchmarkSends(b *testing.B) {
	ledgertest.BenchmarkSends(b, open(b, migrated(b), ledger.Options{}))
}
