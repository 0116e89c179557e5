package rulebook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine"
	"tallyman/engine/trial/preview"
	"tallyman/internal/api"
	"tallyman/internal/authoring"
	"tallyman/internal/wire"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// defaultPreviewed is the default number of rows, findings and notices in an answer.
const defaultPreviewed = 20

type (
	previewInput struct {
		ID   string `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Body *wire.PreviewAskForm
	}
	previewOutput struct{ Body *wire.PreviewForm }
)

func (h *Handlers) registerPreview(operations huma.API) {
	op := api.Operation("preview-rule", http.MethodPost, "/rules/{id}/preview", "rules", "Run a rule now and show what it would do")
	op.Description = "The probe runs read-only on the source. Its rows are judged as in a firing that continues from the ledger's state. Nobody gets a notice. The only " +
		"thing written is the audit record of the caller."
	huma.Register(operations, op, h.preview)
}

// preview answers POST /rules/{id}/preview.
func (h *Handlers) preview(ctx context.Context, in *previewInput) (*previewOutput, error) {
	q := authoring.PreviewRequest{Rule: in.ID, Limit: defaultPreviewed}
	if in.Body != nil {
		q.Scope, q.At = in.Body.Scope, in.Body.At
		if in.Body.Limit > 0 {
			q.Limit = in.Body.Limit
		}
	}
	if prob := api.InScope(ctx, q.Scope); prob != nil {
		return nil, prob
	}
	source, err := h.deps.RuleSource(ctx, in.ID)
	if err == nil {
		err = h.deps.Rules.Find(in.ID, q.Scope)
	}
	if err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	if prob := h.order(ctx, "rule.preview", ruleObject(in.ID, q.Scope), triedState{q.At, q.Limit, newTextState(source.Text)}); prob != nil {
		return nil, prob
	}
	report, err := h.deps.Preview(ctx, q)
	if err != nil {
		return nil, h.previewFailed(ctx, err)
	}
	return &previewOutput{Body: newPreviewForm(report)}, nil
}

// previewFailed converts an error of a preview to a problem.
func (h *Handlers) previewFailed(ctx context.Context, err error) *wire.Problem {
	var at *authoring.AtError
	var list problem.List
	var scan *scanners.Error
	var refused *preview.RefusedError
	switch {
	case errors.As(err, &at):
		return wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "at: "+err.Error())
	case errors.As(err, &list):
		prob := wire.NewProblem(http.StatusConflict, wire.CodeRuleUnverified, "the rule would not run: "+list[0].Message)
		for _, p := range list {
			prob.Errors = append(prob.Errors, wire.Fault{Location: fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col), Message: p.Code + ": " + p.Message})
		}
		return prob
	case errors.Is(err, authoring.ErrBusy), errors.Is(err, engine.ErrSourceBusy):
		return h.notNow(err.Error() + "; try again")
	case errors.As(err, &scan) && scan.Transient, errors.Is(err, context.DeadlineExceeded):
		h.log.LogAttrs(ctx, slog.LevelWarn, "Preview failed, because its source did not answer.", slog.Any("error", err))
		return h.notNow("the rule's source did not answer; try again")
	case errors.As(err, &scan), errors.As(err, &refused):
		return wire.NewProblem(http.StatusConflict, wire.CodeRuleUnverified, "the rule would not run: "+err.Error())
	}
	return h.rulesFailed(ctx, err)
}

func (h *Handlers) notNow(detail string) *wire.Problem {
	p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeSourceUnavailable, detail)
	p.RetryAfter = 2
	return p
}

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
