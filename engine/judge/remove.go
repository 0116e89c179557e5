package judge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// mostForgotten is how many findings of a removed rule one transaction closes at most.
const mostForgotten = 500

// Removal closes what a removed rule has left in a scope, portion by portion. Each portion is complete in itself: after
// a crash the next Removal begins with what is left.
type Removal struct {
	ledger.RemovedScope
	At      time.Time // on the engine's clock, µs
	Notices func(ctx context.Context, ids []string) (map[string]*notice.Notice, error)

	told []finding.State // that are left and carry a notice, those of one notice together
}

// NewRemoval begins the removal of the rule, of which these findings are open. Those that carry no notice go with the
// last portion, without a word.
func NewRemoval(scope ledger.RemovedScope, findings []finding.State) *Removal {
	told := slices.DeleteFunc(slices.Clone(findings), func(st finding.State) bool { return st.NoticeID == "" })
	slices.SortFunc(told, func(a, b finding.State) int {
		return cmp.Or(cmp.Compare(a.NoticeID, b.NoticeID), cmp.Compare(a.Key, b.Key))
	})
	return &Removal{RemovedScope: scope, told: told}
}

// Next returns the next portion. A notice is resolved in the portion with the last finding that carries it.
func (r *Removal) Next(ctx context.Context) (*ledger.ForgetPortion, error) {
	n := min(len(r.told), mostForgotten)
	p := &ledger.ForgetPortion{Rule: r.Rule, Scope: r.Scope, LastDue: r.LastDue, Last: n == len(r.told)}
	for i, st := range r.told[:n] {
		p.Keys = append(p.Keys, st.Key)
		if i+1 == len(r.told) || r.told[i+1].NoticeID != st.NoticeID {
			p.Over = append(p.Over, st.NoticeID)
		}
	}
	r.told = r.told[n:]
	if len(r.Back) == 0 || len(p.Over) == 0 {
		return p, nil
	}
	told, err := r.Notices(ctx, p.Over)
	if err != nil {
		return nil, fmt.Errorf("reading the notices of a removed rule: %w", err)
	}
	for _, id := range p.Over {
		if firing := told[id]; firing != nil {
			p.Notices = append(p.Notices, ledger.NewNotice{Notice: resolution(firing, r.At, removedTitle), Sinks: r.Back, After: id})
		}
	}
	return p, nil
}

// removedTitle is resolvedTitle with the reason.
func removedTitle(lang, title string) string {
	if chinese(lang) {
		return "已解除（规则已移除）：" + title
	}
	return "Resolved, rule removed: " + title
}
