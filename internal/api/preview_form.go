package api

import (
	"encoding/xml"
	"maps"
	"slices"
	"time"

	"tallyman/engine/trial/preview"
	"tallyman/internal/notice"
)

// PreviewForm is what a rule would do if it ran now.
type PreviewForm struct {
	XMLName   xml.Name          `json:"-" xml:"preview"`
	Rule      string            `json:"rule" xml:"rule"`
	Scope     string            `json:"scope" xml:"scope"`
	Title     string            `json:"title,omitempty" xml:"title,omitempty" doc:"of the rule"`
	Source    string            `json:"source" xml:"source"`
	Mode      string            `json:"mode" xml:"mode" enum:"state,event"`
	Due       time.Time         `json:"due" xml:"due" doc:"the firing's"`
	Timezone  string            `json:"timezone" xml:"timezone" doc:"the rule's"`
	Enabled   bool              `json:"enabled" xml:"enabled"`
	Shadow    bool              `json:"shadow" xml:"shadow" doc:"it delivers to its own inbox only"`
	Known     bool              `json:"known" xml:"known" doc:"the ledger knows the rule; else this would be its first run"`
	LastRun   *time.Time        `json:"lastRun,omitempty" xml:"lastRun,omitempty" doc:"due time of the last one"`
	Outcome   string            `json:"outcome" xml:"outcome" enum:"ok,degraded,failed"`
	Error     string            `json:"error,omitempty" xml:"error,omitempty" doc:"why it failed, with its code"`
	TookMS    int64             `json:"tookMs" xml:"tookMs"`
	Counts    countsForm        `json:"counts" xml:"counts"`
	Plan      *planForm         `json:"plan,omitempty" xml:"plan,omitempty" doc:"where the database says it"`
	Watermark []markForm        `json:"watermark,omitempty" xml:"watermark>column,omitempty" doc:"mode event: from where to where it reads" nullable:"false"`
	Columns   []columnForm      `json:"columns" xml:"columns>column" nullable:"false"`
	Rows      []rowForm         `json:"rows" xml:"rows>row" doc:"those that met the condition or could not be judged before the others" nullable:"false"`
	Result    *JudgementForm    `json:"result,omitempty" xml:"result,omitempty" doc:"per: result"`
	Findings  []absentForm      `json:"findings" xml:"findings>finding" doc:"known ones that no row shows" nullable:"false"`
	Notices   []triedNoticeForm `json:"notices" xml:"notices>entry" nullable:"false"`
	Later     []triedNoticeForm `json:"later" xml:"later>entry" doc:"what pending findings would be told as if they last" nullable:"false"`
	LeftOut   leftOutForm       `json:"leftOut" xml:"leftOut" doc:"entries that the lists do not show"`
	Notes     []string          `json:"notes" xml:"notes>note" doc:"what must not be overlooked" nullable:"false"`
}

type countsForm struct {
	Rows    int `json:"rows" xml:"rows"`
	Matched int `json:"matched" xml:"matched"`
	Errored int `json:"errored" xml:"errored"`
	Pending int `json:"pending" xml:"pending" doc:"findings after the run"`
	Firing  int `json:"firing" xml:"firing"`
	Notices int `json:"notices" xml:"notices"`
}

type leftOutForm struct {
	Rows     int `json:"rows" xml:"rows"`
	Findings int `json:"findings" xml:"findings"`
	Notices  int `json:"notices" xml:"notices"`
	Later    int `json:"later" xml:"later"`
}

type planForm struct {
	Cost    float64 `json:"cost" xml:"cost" doc:"in the database's own unit"`
	Shape   string  `json:"shape" xml:"shape"`
	MaxCost int     `json:"maxCost,omitempty" xml:"maxCost,omitempty" doc:"what the rule allows"`
}

// markForm is a column of the watermark.
type markForm struct {
	Name   string  `json:"name" xml:"name,attr"`
	Before *string `json:"before" xml:"before"`
	After  *string `json:"after" xml:"after"`
}

type columnForm struct {
	Name   string `json:"name" xml:"name,attr"`
	Kind   string `json:"kind" xml:"kind,attr"`
	DBType string `json:"dbType,omitempty" xml:"dbType,attr,omitempty" doc:"the database's own name of the type"`
}

type rowForm struct {
	Number int         `json:"number" xml:"number,attr" doc:"from 1, in the order of the probe"`
	Values []ValueForm `json:"values" xml:"column" nullable:"false"`
	JudgementForm
}

// JudgementForm is what the condition says, and what becomes of the finding. It is exported so that the schema has its fields where it is embedded.
type JudgementForm struct {
	Match   bool     `json:"match" xml:"match"`
	Because []string `json:"because,omitempty" xml:"because,omitempty" doc:"the parts of the condition that were not true" nullable:"false"`
	Error   string   `json:"error,omitempty" xml:"error,omitempty" doc:"why it cannot be judged, or would not be told"`
	Key     string   `json:"key,omitempty" xml:"key,omitempty"`
	LifeForm
}

// LifeForm is what the run makes of a finding.
type LifeForm struct {
	Fate   string     `json:"fate,omitempty" xml:"fate,omitempty" enum:"pends,fires,goes_on,reminded,rises,told_again,resolves,dropped,kept,untouched,repeated,event,known_event"`
	Since  *time.Time `json:"since,omitempty" xml:"since,omitempty" doc:"pending: seen first; firing: fired"`
	Next   *time.Time `json:"next,omitempty" xml:"next,omitempty" doc:"pends: when it fires; kept: when it resolves; goes_on: when it is told again"`
	Notice string     `json:"notice,omitempty" xml:"notice,omitempty" doc:"id of the notice that tells it"`
	In     string     `json:"in,omitempty" xml:"in,omitempty" enum:"group,digest" doc:"where that notice tells others too"`
}

type absentForm struct {
	Key string `json:"key" xml:"key"`
	LifeForm
}

// triedNoticeForm is a notice that the run would make, and who would get it.
type triedNoticeForm struct {
	Notice   notice.Form       `json:"notice" xml:"notice"`
	Texts    []translationForm `json:"texts,omitempty" xml:"text,omitempty" doc:"translations" nullable:"false"`
	Known    bool              `json:"known" xml:"known" doc:"an event that was told before: it is not told again"`
	Silenced string            `json:"silenced,omitempty" xml:"silenced,omitempty" doc:"the silence that holds it back, and until when"`
	To       []destinationForm `json:"to" xml:"to" nullable:"false"`
}

type translationForm struct {
	Language string `json:"language" xml:"language,attr"`
	Title    string `json:"title" xml:"title"`
	Body     string `json:"body" xml:"body"`
}

type destinationForm struct {
	Sink       string   `json:"sink" xml:"sink,attr"`
	Type       string   `json:"type" xml:"type,attr"`
	Strategy   string   `json:"strategy,omitempty" xml:"strategy,attr,omitempty" doc:"of a push channel" enum:"immediate,delayed,important,timed"`
	How        string   `json:"how,omitempty" xml:"how,omitempty" doc:"of a push channel, in words: after 10m unless read"`
	Recipients []string `json:"recipients,omitempty" xml:"recipient,omitempty" doc:"of an inbox; of mail as far as they have an address" nullable:"false"`
	Note       string   `json:"note,omitempty" xml:"note,omitempty" doc:"why nobody gets it, or who else"`
}

func newPreviewForm(r *preview.Report) *PreviewForm {
	f := &PreviewForm{
		Rule: r.Rule, Scope: r.Scope, Title: r.Title, Source: r.Source, Mode: r.Mode, Due: r.Due, Timezone: r.Timezone, Enabled: r.Enabled, Shadow: r.Shadow,
		Known: r.Start.From == preview.FromLedger, LastRun: r.Start.LastRun, Outcome: r.Outcome, Error: r.Error, TookMS: r.TookMS,
		Counts: countsForm(r.Counts), LeftOut: leftOutForm(r.LeftOut), Notes: notNil(r.Notes),
		Columns: []columnForm{}, Rows: []rowForm{}, Findings: []absentForm{}, Notices: triedNotices(r.Notices), Later: triedNotices(r.Later),
	}
	if r.Plan != nil {
		plan := planForm(*r.Plan)
		f.Plan = &plan
	}
	if w := r.Watermark; w != nil {
		for i, name := range w.Columns {
			f.Watermark = append(f.Watermark, markForm{name, w.Before[i], w.After[i]})
		}
	}
	for _, c := range r.Columns {
		f.Columns = append(f.Columns, columnForm(c))
	}
	for _, row := range r.Rows {
		form := rowForm{Number: row.Number, Values: []ValueForm{}, JudgementForm: newJudgementForm(row.Judgement)}
		for i, v := range row.Values {
			form.Values = append(form.Values, ValueForm{r.Columns[i].Name, v})
		}
		f.Rows = append(f.Rows, form)
	}
	if r.Result != nil {
		result := newJudgementForm(*r.Result)
		f.Result = &result
	}
	for _, a := range r.Findings {
		f.Findings = append(f.Findings, absentForm{a.Key, newLifeForm(a.Life)})
	}
	return f
}

func newJudgementForm(j preview.Judgement) JudgementForm {
	return JudgementForm{Match: j.Match, Because: j.Because, Error: j.Error, Key: j.Key, LifeForm: newLifeForm(j.Life)}
}

func newLifeForm(l preview.Life) LifeForm {
	return LifeForm{Fate: string(l.Fate), Since: l.Since, Next: l.Next, Notice: l.Notice, In: l.In}
}

func triedNotices(list []preview.Notice) []triedNoticeForm {
	out := make([]triedNoticeForm, len(list))
	for i, n := range list {
		out[i] = triedNoticeForm{Notice: n.Form, Known: n.Known, Silenced: n.Silenced, To: make([]destinationForm, len(n.To))}
		for _, lang := range slices.Sorted(maps.Keys(n.Texts)) {
			out[i].Texts = append(out[i].Texts, translationForm{lang, n.Texts[lang].Title, n.Texts[lang].Body})
		}
		for k, d := range n.To {
			out[i].To[k] = destinationForm(d)
		}
	}
	return out
}
