package judge

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules/row"
)

// BenchmarkOpen is a run over 100,000 rows whose findings are open and do not change: by all findings, which the ledger
// would have to give, and by their outlines.
func BenchmarkOpen(b *testing.B) {
	const n = 100_000
	p := benchPass(b)
	rows := benchRows(n, 1)
	p.Prepared = givenRows{columns: []row.Column{{Name: "bin_code", Kind: row.Text}, {Name: "sku", Kind: row.Text}, {Name: "qty", Kind: row.Int}}, rows: rows}
	all := states(benchScan(b, p, rows, &Snapshot{}))
	state := ledger.ScopeState{}
	state.LastDue, state.LastOKDue = eight.Add(-5*time.Minute), eight.Add(-5*time.Minute)
	reads := 0
	p.Open = func(_ context.Context, keys []finding.Hash) ([]finding.State, error) {
		reads += len(keys)
		return nil, nil
	}
	run := func(b *testing.B, begin func() *Snapshot, ledgerRows int) {
		b.Helper()
		b.ReportAllocs()
		reads = 0
		for b.Loop() {
			known := begin()
			result := p.Scan(b.Context(), known)
			record, err := p.Compose(b.Context(), known, result)
			if err != nil || result.Fault != nil || len(record.Findings) > 0 || record.Run.Firing != n {
				b.Fatal(err, result.Fault, len(record.Findings), record.Run.Firing)
			}
		}
		b.ReportMetric(float64(reads)/float64(b.N)+float64(ledgerRows), "ledger-rows/op")
	}
	b.Run("all findings", func(b *testing.B) {
		run(b, func() *Snapshot { return p.Begin(state, append([]finding.State(nil), all...), ledger.LookBack{}) }, n)
	})
	open := finding.NewOpen(all)
	b.Run("outlines", func(b *testing.B) { run(b, func() *Snapshot { return p.BeginOpen(state, open) }, 0) })
	b.Logf("a finding.State takes %d bytes without its texts", unsafe.Sizeof(finding.State{}))
}
