package preview

import (
	"tallyman/internal/notice"
	"tallyman/internal/silence"
)

// silencedBy says which silence would hold the notice back, and until when: the one that lasts longest; "" = none would. A resolution is not held
// back, and nothing silences a rule in shadow.
func (v *view) silencedBy(n *notice.Notice) string {
	if v.req.Silencer == nil || n.Status == notice.Resolved || v.req.Rule.Shadow && v.start.State.Promoted.IsZero() {
		return ""
	}
	holding := v.req.Silencer.Holding(v.req.Due, &silence.Subject{
		Rule: n.Rule, Type: n.Type, Warehouse: n.Warehouse, Scope: n.Scope, Labels: n.Labels,
	})
	if len(holding) == 0 {
		return ""
	}
	text := "silence " + holding[0].ID
	if holding[0].Comment != "" {
		text += " (" + holding[0].Comment + ")"
	}
	return text + " until " + holding[0].Until.UTC().Format("2006-01-02 15:04:05Z")
}
