package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/row"
)

// compose makes the record of a pass: what it found, and the notices that tell of it.
func (p *pass) compose(ctx context.Context, known *before, found *found) (*ledger.Commit, error) {
	record := &ledger.Commit{Scope: found.step.Scope, Watermark: found.watermark, Again: found.again, Silenced: found.silenced()}
	if found.again {
		record.Scope = known.Scope // the firing is not done
	}
	alone, digests := p.limit(known, found.messages())
	for _, m := range alone {
		n := p.firstNotice(&m)
		found.told(&m, n.ID, known.Promoted)
		record.Notices = append(record.Notices, ledger.NewNotice{Notice: n, Sinks: p.to(m.draft.Deliver)})
	}
	for _, d := range digests {
		n := p.digestNotice(&d)
		for _, m := range d.messages {
			found.told(&m, n.ID, known.Promoted)
		}
		record.Notices = append(record.Notices, ledger.NewNotice{Notice: n, Sinks: p.everywhere()})
	}
	record.Over = found.step.Over()
	if err := p.resolve(ctx, record); err != nil {
		return nil, err
	}
	for i, c := range found.step.Changes {
		change := ledger.FindingChange{State: c.State, Op: operation(c.Op)}
		if i < len(found.rows) {
			change.Row = found.rows[i]
		}
		record.Findings = append(record.Findings, change)
	}
	record.Run = p.sumUp(found, len(record.Notices))
	return record, nil
}

// message is what a notice will say of a finding, a group or an event.
type message struct {
	key, episode string
	status       notice.Status
	ordinal      int
	count        int
	draft        *rules.Draft
	tell         *finding.Tell // nil of an event
}

// messages are all that the pass has to tell.
func (f *found) messages() []message {
	list := make([]message, 0, len(f.events)+len(f.drafts))
	for _, e := range f.events {
		if e.by != "" {
			continue
		}
		list = append(list, message{key: e.key, episode: e.episode, status: notice.Event, count: 1, draft: e.draft})
	}
	for i := range f.drafts {
		tell := &f.step.Tells[i]
		st := f.step.State(*tell)
		list = append(list, message{
			key: cmp.Or(tell.Group, st.Key), episode: notice.EpisodeAt(st.Episode), status: notice.Firing, ordinal: st.Ordinal - 1,
			count: tell.Count(), draft: f.drafts[i], tell: tell,
		})
	}
	return list
}

// told remembers by which notice a message was told. The rule is live since then, if it was in shadow.
func (f *found) told(m *message, noticeID string, live time.Time) {
	if m.tell != nil {
		f.step.Told(*m.tell, noticeID, live)
	}
}

// firstNotice is the notice of a message that is told by itself.
func (p *pass) firstNotice(m *message) *notice.Notice {
	d := m.draft
	return &notice.Notice{
		ID:   notice.ID(p.rule.ID, p.rule.Scope, m.key, m.episode, m.status, m.ordinal),
		Type: d.Type.Code, TypeID: d.Type.ID, Warehouse: d.Warehouse,
		Rule: p.rule.ID, Scope: p.rule.Scope, Key: m.key, Episode: m.episode, Status: m.status,
		Priority: d.Priority, Modal: string(d.Modal),
		Title: d.Texts[""].Title, Body: d.Texts[""].Body, Texts: translations(d.Texts),
		Data: data(d.Fields), Labels: p.rule.Labels, Count: m.count,
		CreatedAt: p.started, ExpiresAt: p.started.Add(d.Expires),
	}
}

// resolve adds the notices that take back firing notices which are over. One that the ledger no longer has goes
// without a word. Resolutions are not limited: each ends what was told as a notice of its own.
func (p *pass) resolve(ctx context.Context, record *ledger.Commit) error {
	if !p.rule.Notice.SendResolved || len(record.Over) == 0 {
		return nil
	}
	told, err := p.e.opts.Ledger.Notices(ctx, record.Over)
	if err != nil {
		return fmt.Errorf("reading the notices that are to be resolved: %w", err)
	}
	for _, id := range record.Over {
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
	if notice.IsDigest(firing.ID) {
		n.ID = notice.DigestID(n.Rule, n.Scope, n.Key, n.Episode, notice.Resolved)
	}
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
	if chinese(lang) {
		return "已解决：" + title
	}
	return "Resolved: " + title
}

func chinese(lang string) bool {
	base, _, _ := strings.Cut(lang, "-")
	return base == "zh"
}

// sumUp is the record of the pass as a run.
func (p *pass) sumUp(found *found, notices int) ledger.Run {
	run := found.run
	run.Rule, run.Scope, run.Due, run.Node = p.rule.ID, p.rule.Scope, p.due, p.e.opts.Node
	run.Started, run.Duration = p.started, time.Since(p.clock)
	run.Pending, run.Firing, run.Notices = found.step.Pending, found.step.Firing, notices
	return run
}

// refused is what is committed instead of a record that the ledger does not take: a failed run, which the rule may tell of
// itself. Should the ledger not take that either, nothing is told.
func (p *pass) refused(ctx context.Context, known *before, cause error, silent bool) *ledger.Commit {
	fault := &runError{"commit_refused", cause.Error()}
	found := p.failed(known, fault)
	if !silent {
		p.alert(known, found)
		if record, err := p.compose(ctx, known, found); err == nil {
			return record
		}
		found = p.failed(known, fault)
	}
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

// micros is a due time as the episodes of notices carry it.

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
