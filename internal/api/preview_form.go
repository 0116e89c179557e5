package api

import (
	"maps"
	"slices"

	"tallyman/engine/trial/preview"
	"tallyman/internal/wire"
)

func newPreviewForm(r *preview.Report) *wire.PreviewForm {
	f := &wire.PreviewForm{
		Rule: r.Rule, Scope: r.Scope, Title: r.Title, Source: r.Source, Mode: r.Mode, Due: r.Due, Timezone: r.Timezone, Enabled: r.Enabled, Shadow: r.Shadow,
		Known: r.Start.From == preview.FromLedger, LastRun: r.Start.LastRun, Outcome: r.Outcome, Error: r.Error, TookMS: r.TookMS,
		Counts: wire.CountsForm(r.Counts), LeftOut: wire.LeftOutForm(r.LeftOut), Notes: wire.NotNil(r.Notes),
		Columns: []wire.ColumnForm{}, Rows: []wire.RowForm{}, Findings: []wire.AbsentForm{}, Notices: triedNotices(r.Notices), Later: triedNotices(r.Later),
	}
	if r.Plan != nil {
		plan := wire.PlanForm(*r.Plan)
		f.Plan = &plan
	}
	if w := r.Watermark; w != nil {
		for i, name := range w.Columns {
			f.Watermark = append(f.Watermark, wire.MarkForm{Name: name, Before: w.Before[i], After: w.After[i]})
		}
	}
	for _, c := range r.Columns {
		f.Columns = append(f.Columns, wire.ColumnForm(c))
	}
	for _, row := range r.Rows {
		form := wire.RowForm{Number: row.Number, Values: []wire.ValueForm{}, JudgementForm: newJudgementForm(row.Judgement)}
		for i, v := range row.Values {
			form.Values = append(form.Values, wire.ValueForm{Name: r.Columns[i].Name, Value: v})
		}
		f.Rows = append(f.Rows, form)
	}
	if r.Result != nil {
		result := newJudgementForm(*r.Result)
		f.Result = &result
	}
	for _, a := range r.Findings {
		f.Findings = append(f.Findings, wire.AbsentForm{Key: a.Key, LifeForm: newLifeForm(a.Life)})
	}
	return f
}

func newJudgementForm(j preview.Judgement) wire.JudgementForm {
	return wire.JudgementForm{Match: j.Match, Because: j.Because, Error: j.Error, Key: j.Key, LifeForm: newLifeForm(j.Life)}
}

func newLifeForm(l preview.Life) wire.LifeForm {
	return wire.LifeForm{Fate: string(l.Fate), Since: l.Since, Next: l.Next, Notice: l.Notice, In: l.In}
}

func triedNotices(list []preview.Notice) []wire.TriedNoticeForm {
	out := make([]wire.TriedNoticeForm, len(list))
	for i, n := range list {
		out[i] = wire.TriedNoticeForm{Notice: n.Form, Known: n.Known, Silenced: n.Silenced, To: make([]wire.DestinationForm, len(n.To))}
		for _, lang := range slices.Sorted(maps.Keys(n.Texts)) {
			out[i].Texts = append(out[i].Texts, wire.TranslationForm{Language: lang, Title: n.Texts[lang].Title, Body: n.Texts[lang].Body})
		}
		for k, d := range n.To {
			out[i].To[k] = wire.DestinationForm(d)
		}
	}
	return out
}
