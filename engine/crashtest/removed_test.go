package crashtest

import (
	"fmt"
	"testing"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// findings are more than two portions of a removal close.
const findings = 1100

// A process is killed again and again while it closes what a removed rule has left: before a portion, in the middle of
// its transaction, after it, and in each step of the deliveries. Each notice is resolved once, and nothing of the rule
// stays.
func TestKilledWhileARemovedRuleIsClosed(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for _, kind := range []string{"sqlite", "postgres"} {
		for name, deaths := range map[string][]string{
			"before": {engine.StepForgetting, engine.StepForgetting},
			"during": {engine.StepForgetting + " 2ms", engine.StepForgetting + " 5ms", engine.StepForgetting + " 10ms", engine.StepForgetting + " 20ms"},
			"after":  {engine.StepForgotten, engine.StepForgotten, engine.StepForgotten}, // the last of three portions
			"told":   {engine.StepDelivering, engine.StepDelivered, engine.StepMarked},
			"mixed":  {engine.StepForgotten, engine.StepDelivered, engine.StepForgetting + " 7ms", engine.StepForgotten},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				h := newHarness(t, kind, many)
				h.exec(fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
					INSERT INTO bin_stock SELECT i, 'A', -1 FROM n`, findings))
				var want []string
				for i := range findings {
					want = append(want, fmt.Sprintf("firing [%d]", i+1))
				}
				h.until(want...)
				h.write(ruleFile, none)
				for _, death := range deaths {
					h.killedAt(death)
				}
				for i := range findings {
					want = append(want, fmt.Sprintf("resolved [%d]", i+1))
				}
				h.removed = findings
				h.until(want...)
				h.check()
				h.withLedger(func(l ledger.Ledger) {
					left, err := l.Removed(h.Context(), nil)
					if err != nil || len(left) != 0 {
						h.Errorf("left of the rule: %v, %v", left, err)
					}
				})
			})
		}
	}
}
