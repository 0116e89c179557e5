package preview

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/silence"
	"tallyman/rules"
)

// told lists the notices of the run and who gets them.
func (v *view) told(ctx context.Context) error {
	var err error
	v.report.Notices, err = v.list(ctx, v.made)
	v.report.LeftOut.Notices = len(v.made) - len(v.report.Notices)
	return err
}

// list addresses the notices, and says loudly where nobody would hear of one.
func (v *view) list(ctx context.Context, made []ledger.NewNotice) ([]Notice, error) {
	listed := []Notice{}
	nobody := map[string]int{}
	silent := map[string]int{}
	for i := range made {
		n := made[i].Notice
		to, err := v.destinations(ctx, &made[i])
		if err != nil {
			return nil, err
		}
		if len(to) == 0 {
			v.note("%s goes nowhere: no `when` of deliver lets it through", n.Title)
		}
		for _, d := range to {
			if v.req.Sinks[d.Sink].Inbox && len(d.Recipients) == 0 && n.Status != notice.Resolved {
				nobody[fmt.Sprintf("nobody is subscribed to %s in warehouse %s", n.Type, n.Warehouse)]++
			}
		}
		by := v.silencedBy(n)
		if by != "" {
			silent[by]++
		}
		if v.req.Limit == 0 || i < v.req.Limit {
			listed = append(listed, Notice{Form: n.Form(), Texts: texts(n), Known: v.known[n.ID], Silenced: by, To: to})
		}
	}
	for _, by := range slices.Sorted(maps.Keys(silent)) {
		v.note("%s: %s would not be made", by, plural(silent[by], "notice"))
	}
	for _, text := range slices.Sorted(maps.Keys(nobody)) {
		v.note("%s: %s would reach no inbox", text, plural(nobody[text], "notice"))
	}
	return listed, nil
}

// later shows what the findings that wait for their time would be told as: the same rows once more, in a rule that does not wait.
func (v *view) later(ctx context.Context) error {
	if v.run.Run.Pending == 0 || v.run.Run.Outcome == ledger.OutcomeFailed {
		return nil
	}
	hasty := *v.req.Rule
	hasty.For = 0
	try, err := trial.New(&hasty, &fixedSource{columns: v.columns, rows: v.run.Rows}, v.req.Types, v.start)
	if err != nil {
		return err
	}
	if err := try.Verify(ctx); err != nil {
		return err
	}
	run, err := try.Run(ctx, v.req.Due)
	if err != nil {
		return err
	}
	var made []ledger.NewNotice
	for _, c := range run.Commits {
		for _, n := range c.Notices {
			if v.lives.made[n.Notice.ID] == nil && n.Notice.Status == notice.Firing {
				made = append(made, n)
			}
		}
	}
	if v.report.Later, err = v.list(ctx, made); err != nil {
		return err
	}
	v.report.LeftOut.Later = len(made) - len(v.report.Later)
	for i := range v.report.Later {
		form := &v.report.Later[i].Form // they will be those of the run that tells it
		form.ID, form.Episode = "", ""
	}
	return nil
}

// knownEvents are the events that were told before: a lag, or a source that shows old rows again, brings them back.
func (v *view) knownEvents(ctx context.Context) (map[string]bool, error) {
	known := map[string]bool{}
	if v.req.Ledger == nil || v.req.Rule.Mode != rules.ModeEvent || len(v.made) == 0 {
		return known, nil
	}
	ids := make([]string, len(v.made))
	for i, n := range v.made {
		ids[i] = n.Notice.ID
	}
	found, err := v.req.Ledger.Notices(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look up the notices in the ledger: %w", err)
	}
	for id := range found {
		known[id] = true
	}
	return known, nil
}

func texts(n *notice.Notice) map[string]Text {
	if len(n.Texts) == 0 {
		return nil
	}
	out := map[string]Text{}
	for lang, t := range n.Texts {
		out[lang] = Text(t)
	}
	return out
}

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
