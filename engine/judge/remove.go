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

// mostForgotten is the largest number of findings of a removed rule that one transaction closes.
const mostForgotten = 500

// Removal closes the findings of a removed rule in a scope, portion by portion. Each portion is complete in itself:
// after a crash the next Removal goes on with the findings that are left.
type Removal struct {
	ledger.RemovedScope
	At      time.Time // On the engine's clock, in whole µs.
	Notices func(ctx context.Context, ids []string) (map[string]*notice.Notice, error)

	told []finding.State // The findings left that carry a notice, sorted by notice.
}

// NewRemoval begins the removal of a rule with these open findings. The last portion closes the findings that carry no
// notice.
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

// removedTitle is resolvedTitle with the reason that the rule was removed.
func removedTitle(lang, title string) string {
	if chinese(lang) {
		return "已解除（规则已移除）：" + title
	}
	return "Resolved, rule removed: " + title
}
