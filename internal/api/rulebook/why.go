package rulebook

import (
	"slices"

	"tallyman/engine/judge"
	"tallyman/engine/why"
	"tallyman/internal/api/view"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/wire"
	"tallyman/rules/row"
)

func newWhyForm(w *why.Answer) *wire.WhyForm {
	f := &wire.WhyForm{
		Rule: w.Rule.ID, Scope: w.Rule.Scope, Title: w.Rule.Title, Key: w.Key, Asked: w.Asked, State: "none", More: w.More, Alike: w.Alike,
		Held: make([]wire.HeldForm, len(w.Reasons)), Told: make([]wire.TracedForm, len(w.Notices)),
	}
	if w.Finding != nil {
		f.Finding = newFindingForm(w.Finding)
		f.State, f.Since = "pending", &f.Finding.OpenedAt
		if w.Finding.Phase == finding.Firing {
			f.State, f.Since = "firing", f.Finding.FiringSince
		}
	}
	if w.Look != nil {
		f.Look = newLookForm(w)
	}
	for i, h := range w.Reasons {
		f.Held[i] = wire.HeldForm{Code: h.Code, Text: h.Text, Facts: newHeldFacts(&h.Facts)}
	}
	if w.Next != nil {
		f.Next = &wire.NextForm{What: w.Next.What, Due: w.Next.Due, At: w.Next.At}
	}
	for i, t := range w.Notices {
		f.Told[i] = newTracedForm(&t, w.Waiting)
	}
	if w.LastRun != nil {
		f.LastRun = view.NewRunStatus(w.LastRun)
	}
	return f
}

func newHeldFacts(f *why.Facts) wire.HeldFactsForm {
	return wire.HeldFactsForm{
		At: wire.Moment(f.At), Until: wire.Moment(f.Until), SeenMS: f.Seen.Milliseconds(), AskedMS: f.Asked.Milliseconds(), By: f.By, All: f.All, Reason: f.Reason,
		Error: f.Error, Baseline: f.Baseline, Event: f.Event, Result: f.Result, Shadow: f.Shadow, Subscriber: f.Subscriber, Type: f.Type, Warehouse: f.Warehouse,
		Columns: f.Columns, Joins: f.Joins, Rises: f.Rises, Priority: f.Priority, Count: f.Count, Most: f.Most, Key: f.Key, Silences: f.Silences, Sink: f.Sink,
		Node: f.Node, Attempts: f.Attempts, Unless: f.Unless,
	}
}

func newFindingForm(f *ledger.Finding) *wire.FindingForm {
	form := &wire.FindingForm{
		Episode: notice.EpisodeAt(f.Term, f.Episode), OpenedAt: f.Episode.UTC(), FiringSince: wire.Moment(f.FiringSince), AbsentSince: wire.Moment(f.AbsentSince), Priority: f.Priority,
		LastNotified: wire.Moment(f.LastNotified), Told: f.Ordinal, Notice: f.NoticeID, Group: f.Group, Withheld: withheld(&f.State), RowDue: wire.Moment(f.RowDue),
	}
	for _, c := range judge.RowColumns(f.Row) {
		form.Row = append(form.Row, wire.ValueForm(c))
	}
	return form
}

func newLookForm(a *why.Answer) *wire.LookForm {
	l := a.Look
	form := &wire.LookForm{
		Answered: l.Skipped == "" && l.Failed == "", Skipped: string(l.Skipped), Reason: a.WhyNotAsked(), Rows: l.Rows, Found: l.Found, Match: l.Match, Fault: l.Fault, To: l.To,
	}
	if l.Row != nil {
		for i, c := range l.Row.Columns {
			form.Row = append(form.Row, wire.ValueForm{Name: c.Name, Value: valueText(l.Row.Values[i])})
		}
	}
	for _, p := range l.Parts {
		form.Condition = append(form.Condition, wire.PartForm(p))
	}
	return form
}

func valueText(v row.Value) *string {
	if v.IsNull() {
		return nil
	}
	text := v.String()
	return &text
}

func newTracedForm(t *ledger.NoticeTrace, waiting []ledger.DeliveryRecord) wire.TracedForm {
	n := t.Notice
	form := wire.TracedForm{
		ID: n.ID, Status: n.Status, Type: n.Type, Warehouse: n.Warehouse, Title: n.Title, Priority: n.Priority, Key: n.Key, Count: n.Count,
		CreatedAt: n.CreatedAt.UTC(), Deliveries: make([]wire.TracedDeliveryForm, len(t.Deliveries)),
	}
	for i, d := range t.Deliveries {
		form.Deliveries[i] = wire.TracedDeliveryForm{
			Sink: d.Lane.Sink, State: d.State.String(), Attempts: d.Attempts, SentAt: wire.Moment(d.SentAt), Error: d.LastError, Recipients: d.Recipients,
		}
		at := slices.IndexFunc(waiting, func(r ledger.DeliveryRecord) bool { return r.Seq == d.Seq })
		if at >= 0 {
			form.Deliveries[i].Next, form.Deliveries[i].Deadline = wire.Moment(waiting[at].Next), wire.Moment(waiting[at].Deadline)
		}
	}
	return form
}
