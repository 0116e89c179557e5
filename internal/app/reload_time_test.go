package app_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// A file that was written is in force soon after, whether it is replaced in place or by renaming another over it.
func TestTimeUntilRulesAreInForce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	var took []time.Duration
	for i := range 20 {
		title := fmt.Sprintf("Version %d", i)
		began := time.Now()
		if i%2 == 0 {
			s.rule("stock.yaml", titled(title))
		} else {
			s.write("next.yaml", titled(title))
			s.rename("next.yaml", filepath.Join("rules", "stock.yaml"))
		}
		testenv.Eventually(t, func() bool {
			var r wire.RuleForm
			n.get("/rules/negative-bin-stock", &r)
			return r.Title == title
		}, 20*time.Second)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("from writing a rule file to its rules being in force: p50 %v, max %v of %d", took[len(took)/2], took[len(took)-1], len(took))
	if took[len(took)/2] > 2*time.Second {
		t.Errorf("half of them took longer than two seconds: %v", took)
	}
}
