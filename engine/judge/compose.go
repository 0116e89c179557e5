package judge

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
)

// Compose makes the record of a pass: its findings and its notices.
func (p *Pass) Compose(ctx context.Context, known *Snapshot, result *Result) (*ledger.Commit, error) {
	record := &ledger.Commit{
		Scope: result.step.Scope, Watermark: result.watermark, Initial: known.initial, LookBack: result.lookBack, Again: result.again, Silenced: result.silenced(), Back: p.back(),
	}
	if result.again {
		record.Scope = known.Scope // Another pass follows, so the firing is not done.
	}
	messages, err := p.dropSentEvents(ctx, result.messages())
	if err != nil {
		return nil, err
	}
	alone, digests := p.limit(known, messages)
	for _, m := range alone {
		n := p.firstNotice(&m)
		result.recordTold(&m, n.ID, known.Promoted)
		record.Notices = append(record.Notices, ledger.NewNotice{Notice: n, Sinks: p.to(m.draft.Deliver)})
	}
	for _, d := range digests {
		n := p.digestNotice(&d)
		for _, m := range d.messages {
			result.recordTold(&m, n.ID, known.Promoted)
		}
		record.Notices = append(record.Notices, ledger.NewNotice{Notice: n, Sinks: p.everywhere()})
	}
	if shared := result.step.Shared(); len(shared) > 0 {
		carriers, err := p.Carriers(ctx, shared)
		if err != nil {
			return nil, fmt.Errorf("reading which findings carry a notice: %w", err)
		}
		result.step.CarriedBefore(carriers)
	}
	record.Over = result.step.Over()
	if err := p.resolve(ctx, record); err != nil {
		return nil, err
	}
	for i, c := range result.step.Changes {
		change := ledger.FindingChange{State: c.State, Op: operation(c.Op)}
		if i < len(result.rows) {
			change.Row = result.rows[i]
		}
		record.Findings = append(record.Findings, change)
	}
	record.Run = p.sumUp(result, len(record.Notices))
	return record, nil
}

// message is the draft of a notice about a finding, a group or an event. message becomes a notice of its own or a line
// of a digest.
type message struct {
	key, episode string
	status       notice.Status
	ordinal      int
	count        int
	draft        *rules.NoticeDraft
	tell         *finding.Tell // Nil for an event.
}

// messages returns the messages of the pass. Messages about the rule itself come last.
func (r *Result) messages() []message {
	list := make([]message, 0, len(r.events)+len(r.drafts))
	for _, e := range r.events {
		if e.by != "" {
			continue
		}
		list = append(list, message{key: e.key, episode: e.episode, status: notice.Event, count: 1, draft: e.draft})
	}
	for i := range r.drafts {
		tell := &r.step.Tells[i]
		st := r.step.State(*tell)
		list = append(list, message{
			key: cmp.Or(tell.Group, st.Key), episode: notice.EpisodeAt(st.Term, st.Episode), status: notice.Firing, ordinal: st.Ordinal - 1,
			count: tell.Count(), draft: r.drafts[i], tell: tell,
		})
	}
	return list
}

// recordTold records in the finding the id of its notice. live is when the rule was promoted out of shadow.
func (r *Result) recordTold(m *message, noticeID string, live time.Time) {
	if m.tell != nil {
		r.step.Told(*m.tell, noticeID, live)
	}
}

// firstNotice makes a notice of the message alone.
func (p *Pass) firstNotice(m *message) *notice.Notice {
	d := m.draft
	return &notice.Notice{
		ID:   p.idOf(m),
		Type: d.Type.Code, TypeID: d.Type.ID, Warehouse: d.Warehouse,
		Rule: p.Rule.ID, Scope: p.Rule.Scope, Key: m.key, Episode: m.episode, Status: m.status,
		Priority: d.Priority, Order: d.Order, Modal: string(d.Modal),
		Title: d.Texts[""].Title, Body: d.Texts[""].Body, Texts: translations(d.Texts),
		Data: data(d.Fields), Labels: p.Rule.Labels, Count: m.count,
		CreatedAt: p.Started, ExpiresAt: p.Started.Add(d.Expires),
	}
}

// resolve adds a resolution for each firing notice that is over. A firing notice that the ledger no longer has gets
// none. limit.notices does not apply to resolutions.
func (p *Pass) resolve(ctx context.Context, record *ledger.Commit) error {
	if !p.Rule.Notice.SendResolved || len(record.Over) == 0 {
		return nil
	}
	sent, err := p.Notices(ctx, record.Over)
	if err != nil {
		return fmt.Errorf("reading the notices to resolve: %w", err)
	}
	for _, id := range record.Over {
		if firing := sent[id]; firing != nil {
			record.Notices = append(record.Notices, ledger.NewNotice{
				Notice: resolution(firing, p.Started, resolvedTitle), Sinks: p.Address.back, After: id,
			})
		}
	}
	return nil
}

// resolution returns the resolution of a firing notice, made at that time. title makes the new titles.
func resolution(firing *notice.Notice, at time.Time, title func(lang, title string) string) *notice.Notice {
	n := *firing
	n.ID = notice.ID(n.Rule, n.Scope, n.Key, n.Episode, notice.Resolved, 0)
	if notice.IsDigest(firing.ID) {
		n.ID = notice.DigestID(n.Rule, n.Scope, n.Key, n.Episode, notice.Resolved)
	}
	n.Status = notice.Resolved
	n.Modal = string(rules.ModalSilent)
	n.Title = title("", firing.Title)
	n.Texts = nil
	for lang, text := range firing.Texts {
		if n.Texts == nil {
			n.Texts = make(map[string]notice.Text, len(firing.Texts))
		}
		n.Texts[lang] = notice.Text{Title: title(lang, text.Title), Body: text.Body}
	}
	n.CreatedAt = at
	n.ExpiresAt = at.Add(firing.ExpiresAt.Sub(firing.CreatedAt))
	return &n
}

func resolvedTitle(lang, title string) string {
	if chinese(lang) {
		return "已解除：" + title
	}
	return "Resolved: " + title
}

func chinese(lang string) bool {
	base, _, _ := strings.Cut(lang, "-")
	return base == "zh"
}

// sumUp returns the run record of the pass.
func (p *Pass) sumUp(result *Result, notices int) ledger.Run {
	run := result.run
	run.Rule, run.Scope, run.Term, run.Due, run.Node = p.Rule.ID, p.Rule.Scope, p.Term, p.Due, p.Node
	run.Started, run.Duration = p.Started, time.Since(p.Begun)
	run.Pending, run.Firing, run.Notices = result.step.Pending, result.step.Firing, notices
	return run
}

// Refused returns the record to commit instead of a record that the ledger refuses: a failed run with the cause, and
// with the rule's on_error alert. silent leaves out the alert, for a ledger that refuses the record with the alert,
// too.
func (p *Pass) Refused(ctx context.Context, known *Snapshot, cause error, silent bool) *ledger.Commit {
	fault := &Error{"commit_refused", cause.Error()}
	result := p.failed(known, fault)
	if !silent {
		p.alert(known, result)
		if record, err := p.Compose(ctx, known, result); err == nil {
			return record
		}
		result = p.failed(known, fault)
	}
	return &ledger.Commit{Scope: result.step.Scope, Watermark: result.watermark, Initial: known.initial, Run: p.sumUp(result, 0), Back: p.back()}
}

// operation converts a finding's change to the ledger's type.
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

// translations returns the texts except the one without a language.
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
		out[i] = notice.Field{Name: f.Name, Value: f.Value.Data()}
	}
	return out
}
