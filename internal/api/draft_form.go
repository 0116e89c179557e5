package api

import (
	"encoding/xml"

	"tallyman/engine/trial/rulediff"
)

type (
	// DraftForm is what another text of a rule comes to.
	DraftForm struct {
		XMLName  xml.Name           `json:"-" xml:"draft"`
		Rule     string             `json:"rule" xml:"rule"`
		Scope    string             `json:"scope" xml:"scope"`
		Problems []FileProblem      `json:"problems" xml:"problems>problem" doc:"with places in the text, and an empty file; those that stand elsewhere in the rule's file name it. With one of them the file would be refused" nullable:"false"`
		Fields   []changedFieldForm `json:"fields" xml:"fields>field" doc:"in which the draft differs from what runs, in this scope" nullable:"false"`
		Warnings []string           `json:"warnings" xml:"warnings>warning" doc:"what a change does that is easily overlooked" nullable:"false"`
		Preview  *PreviewForm       `json:"preview,omitempty" xml:"preview,omitempty" doc:"of the draft; there where it would run"`
		Effect   *effectForm        `json:"effect,omitempty" xml:"effect,omitempty" doc:"of the draft in the place of what runs, both run over one snapshot; there where they differ, and the source has snapshots"`
		Notes    []string           `json:"notes" xml:"notes>note" doc:"why something is not there" nullable:"false"`
	}
	changedFieldForm struct {
		Path   string `json:"path" xml:"path" doc:"as in a rule file" example:"schedule.cron"`
		Before string `json:"before" xml:"before" doc:"empty where it is not set"`
		After  string `json:"after" xml:"after"`
	}
	// effectForm is what the next run would make other than that of the running version.
	effectForm struct {
		From      string    `json:"from" xml:"from" enum:"ledger,old,none" doc:"the state that both begin with: the ledger's; as if the running version had told all that it finds now; or nothing"`
		Running   *sideForm `json:"running,omitempty" xml:"running,omitempty" doc:"left out where it is disabled"`
		Draft     *sideForm `json:"draft,omitempty" xml:"draft,omitempty" doc:"left out where it is disabled"`
		Compared  bool      `json:"compared" xml:"compared" doc:"both could be run; without it the lists are empty"`
		Fire      keysForm  `json:"fire" xml:"fire" doc:"told by the draft only; of mode event, rows"`
		Pend      keysForm  `json:"pend" xml:"pend" doc:"wait for their time in the draft, and would not be there or would fire now"`
		Resolve   keysForm  `json:"resolve" xml:"resolve" doc:"firing, and gone in the draft"`
		Keep      keysForm  `json:"keep" xml:"keep" doc:"told already: they go on in the draft, and would be gone"`
		Drop      keysForm  `json:"drop" xml:"drop" doc:"pending, and gone in the draft; of mode event, rows that are not told"`
		Unchanged keysForm  `json:"unchanged" xml:"unchanged"`
		Again     keysForm  `json:"again" xml:"again" doc:"told already, and told again by the draft only; counted besides"`
	}
	sideForm struct {
		Outcome string `json:"outcome" xml:"outcome" enum:"ok,degraded,failed"`
		Error   string `json:"error,omitempty" xml:"error,omitempty" doc:"why it failed, or would not run"`
		Rows    int    `json:"rows" xml:"rows"`
		Matched int    `json:"matched" xml:"matched"`
		Errored int    `json:"errored" xml:"errored"`
		Notices int    `json:"notices" xml:"notices"`
	}
	keysForm struct {
		Count int      `json:"count" xml:"count,attr"`
		Keys  []string `json:"keys" xml:"key" doc:"the first of them" nullable:"false"`
	}
)

func newDraftForm(id string, d *Drafted) *DraftForm {
	f := &DraftForm{
		Rule: id, Scope: d.Scope, Problems: notNil(d.Problems), Fields: make([]changedFieldForm, len(d.Changes)), Warnings: notNil(d.Warnings),
		Effect: newEffectForm(d.Effect), Notes: notNil(d.Notes),
	}
	for i, c := range d.Changes {
		f.Fields[i] = changedFieldForm{c.Field, c.Old, c.New}
	}
	if d.Preview != nil {
		f.Preview = newPreviewForm(d.Preview)
	}
	return f
}

func newEffectForm(r *rulediff.Rule) *effectForm {
	if r == nil {
		return nil
	}
	e := r.Effect
	f := &effectForm{From: r.From, Running: newSideForm(r.Old), Draft: newSideForm(r.New), Compared: e != nil}
	if e == nil {
		e = &rulediff.Effect{}
	}
	for _, one := range []struct {
		from rulediff.Keys
		to   *keysForm
	}{
		{e.Fire, &f.Fire},
		{e.Pend, &f.Pend},
		{e.Resolve, &f.Resolve},
		{e.Keep, &f.Keep},
		{e.Drop, &f.Drop},
		{e.Unchanged, &f.Unchanged},
		{e.Again, &f.Again},
	} {
		*one.to = keysForm{one.from.Count, notNil(one.from.Keys)}
	}
	return f
}

func newSideForm(s *rulediff.Side) *sideForm {
	if s == nil {
		return nil
	}
	f := sideForm(*s)
	return &f
}
