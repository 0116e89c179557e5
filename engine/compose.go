package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tallyman/engine/finding"
	"tallyman/engine/notice"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
)

// compose makes the record of a pass: what it found, and the notices that tell of it.
func (p *pass) compose(ctx context.Context, known *before, found *found) (*ledger.Commit, error) {
	record := &ledger.Commit{Scope: found.step.Scope, Watermark: found.watermark, Again: found.again}
	if found.again {
		record.Scope = known.Scope // the firing is not done
	}
	for _, e := range found.events {
		p.add(record, p.firstNotice(e.draft, e.key, e.episode, notice.Event, 0))
	}
	var gone []finding.Change
	for i, tell := range found.step.Tells {
		change := found.step.Changes[tell.Change]
		if tell.Kind == finding.Resolve {
			gone = append(gone, change)
			continue
		}
		// The tells come in the order of their drafts; resolutions, which have none, come last.
		n := p.firstNotice(found.drafts[i], change.Key, episodeOf(change.State), notice.Firing, change.Ordinal-1)
		found.step.Told(tell, n.ID)
		p.add(record, n)
	}
	if err := p.resolve(ctx, record, gone); err != nil {
		return nil, err
	}
	for _, c := range found.step.Changes {
		record.Findings = append(record.Findings, ledger.FindingChange{State: c.State, Op: operation(c.Op)})
	}
	record.Run = p.sumUp(found, len(record.Notices))
	return record, nil
}

func (p *pass) add(record *ledger.Commit, n *notice.Notice) {
	record.Notices = append(record.Notices, ledger.NewNotice{Notice: n, Sinks: p.targets})
}

// firstNotice is a notice made of a row.
func (p *pass) firstNotice(d *rules.Draft, key, episode string, status notice.Status, ordinal int) *notice.Notice {
	return &notice.Notice{
		ID:   notice.ID(p.rule.ID, p.rule.Scope, key, episode, status, ordinal),
		Type: d.Type.Code, TypeID: d.Type.ID, Warehouse: d.Warehouse,
		Rule: p.rule.ID, Scope: p.rule.Scope, Key: key, Episode: episode, Status: status,
		Priority: d.Priority, Modal: string(d.Modal),
		Title: d.Texts[""].Title, Body: d.Texts[""].Body, Texts: translations(d.Texts),
		Data: data(d.Fields), Labels: p.rule.Labels, Count: 1,
		CreatedAt: p.started, ExpiresAt: p.started.Add(d.Expires),
	}
}

// resolve adds the notices that take back the last firing notice of findings that are gone. One whose
// notice the ledger no longer has is gone without a word.
func (p *pass) resolve(ctx context.Context, record *ledger.Commit, gone []finding.Change) error {
	if !p.rule.Notice.SendResolved || len(gone) == 0 {
		return nil
	}
	ids := make([]string, len(gone))
	for i, c := range gone {
		ids[i] = c.NoticeID
	}
	told, err := p.e.opts.Ledger.Notices(ctx, ids)
	if err != nil {
		return fmt.Errorf("reading the notices that are to be resolved: %w", err)
	}
	for _, id := range ids {
		if firing := told[id]; firing != nil {
			record.Notices = append(record.Notices, ledger.NewNotice{
				Notice: p.resolved(firing), Sinks: p.address.back, After: id,
			})
		}
	}
	return nil
}

// resolved repeats a firing notice as its resolution.
func (p *pass) resolved(firing *notice.Notice) *notice.Notice {
	n := *firing
	n.ID = notice.ID(n.Rule, n.Scope, n.Key, n.Episode, notice.Resolved, 0)
	n.Status = notice.Resolved
	n.Modal = string(rules.ModalSilent)
	n.Title = resolvedTitle("", firing.Title)
	n.Texts = nil
	for lang, text := range firing.Texts {
		if n.Texts == nil {
			n.Texts = make(map[string]notice.Text, len(firing.Texts))
		}
		n.Texts[lang] = notice.Text{Title: resolvedTitle(lang, text.Title), Body: text.Body}
	}
	n.CreatedAt = p.started
	n.ExpiresAt = p.started.Add(firing.ExpiresAt.Sub(firing.CreatedAt))
	return &n
}

func resolvedTitle(lang, title string) string {
	if base, _, _ := strings.Cut(lang, "-"); base == "zh" {
		return "已解决：" + title
	}
	return "Resolved: " + title
}

// sumUp is the record of the pass as a run.
func (p *pass) sumUp(found *found, notices int) ledger.Run {
	run := found.run
	run.Rule, run.Scope, run.Due, run.Node = p.rule.ID, p.rule.Scope, p.due, p.e.opts.Node
	run.Started, run.Duration = p.started, time.Since(p.clock)
	run.Pending, run.Firing, run.Notices = found.step.Pending, found.step.Firing, notices
	return run
}

// refused is what is committed instead of a record that the ledger does not take.
func (p *pass) refused(known *before, cause error) *ledger.Commit {
	found := p.failed(known, &runError{"commit_refused", cause.Error()})
	return &ledger.Commit{Scope: found.step.Scope, Watermark: found.watermark, Run: p.sumUp(found, 0)}
}

// operation is the finding's change as the ledger calls it.
func operation(op finding.Op) ledger.Op {
	switch op {
	case finding.Insert:
		return ledger.Insert
	case finding.Delete:
		return ledger.Delete
	default:
		return ledger.Update
	}
}

// episodeOf is the episode as notices carry it.
func episodeOf(st finding.State) string { return strconv.FormatInt(st.Episode.UnixMicro(), 10) }

// translations are the texts but the one without a language.
func translations(texts map[string]rules.Text) map[string]notice.Text {
	if len(texts) < 2 {
		return nil
	}
	out := make(map[string]notice.Text, len(texts)-1)
	for lang, t := range texts {
		if lang != "" {
			out[lang] = notice.Text{Title: t.Title, Body: t.Body}
		}
	}
	return out
}

func data(fields []rules.Field) []notice.Field {
	out := make([]notice.Field, len(fields))
	for i, f := range fields {
		out[i] = notice.Field{Name: f.Name, Value: dataValue(f.Value)}
	}
	return out
}

// dataValue is a value as a notice carries it: decimals and times as text, so that nothing is lost in a float.
func dataValue(v row.Value) any {
	switch v.Kind() {
	case row.Null:
		return nil
	case row.Int:
		return v.Int()
	case row.Bool:
		return v.Bool()
	default:
		return v.String()
	}
}
