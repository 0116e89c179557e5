package api

import (
	"encoding/xml"
	"slices"
	"time"

	"tallyman/engine/judge"
	"tallyman/engine/why"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/row"
)

// WhyForm is what is known of one finding.
type WhyForm struct {
	XMLName xml.Name     `json:"-" xml:"why"`
	Rule    string       `json:"rule" xml:"rule"`
	Scope   string       `json:"scope" xml:"scope"`
	Title   string       `json:"title,omitempty" xml:"title,omitempty" doc:"of the rule"`
	Key     string       `json:"key" xml:"key" doc:"canonical JSON array"`
	Asked   time.Time    `json:"asked" xml:"asked"`
	State   string       `json:"state" xml:"state" enum:"none,pending,firing" doc:"none: no finding is open"`
	Since   *time.Time   `json:"since,omitempty" xml:"since,omitempty" doc:"pending: first seen; firing: fired"`
	Finding *findingForm `json:"finding,omitempty" xml:"finding,omitempty"`
	Look    *lookForm    `json:"look,omitempty" xml:"look,omitempty" doc:"the row as the source has it now"`
	Held    []heldForm   `json:"held" xml:"held>reason" doc:"why it is not told now, or not where it would be" nullable:"false"`
	Next    *nextForm    `json:"next,omitempty" xml:"next,omitempty" doc:"what comes of it if nothing changes"`
	Told    []tracedForm `json:"told" xml:"told>notice" doc:"every notice of it, also of past episodes, the latest first" nullable:"false"`
	More    bool         `json:"more" xml:"more" doc:"there are older notices"`
	LastRun *RunStatus   `json:"lastRun,omitempty" xml:"lastRun,omitempty" doc:"of the rule in the scope"`
	Alike   []string     `json:"alike,omitempty" xml:"alike>key,omitempty" doc:"nothing is known of the key; these are open and look like it" nullable:"false"`
}

// findingForm is the state of an open finding.
type findingForm struct {
	Episode      string      `json:"episode" xml:"episode" doc:"as its notices have it"`
	OpenedAt     time.Time   `json:"openedAt" xml:"openedAt" doc:"the due time of the firing that opened it"`
	FiringSince  *time.Time  `json:"firingSince,omitempty" xml:"firingSince,omitempty"`
	AbsentSince  *time.Time  `json:"absentSince,omitempty" xml:"absentSince,omitempty" doc:"the last run that saw it, where later ones did not"`
	Priority     int         `json:"priority,omitempty" xml:"priority,omitempty" doc:"as it was told last"`
	LastNotified *time.Time  `json:"lastNotified,omitempty" xml:"lastNotified,omitempty"`
	Told         int         `json:"told" xml:"told" doc:"how often it was told"`
	Notice       string      `json:"notice,omitempty" xml:"notice,omitempty" doc:"id of the notice that told it last"`
	Group        string      `json:"group,omitempty" xml:"group,omitempty" doc:"key of its group"`
	Row          []ValueForm `json:"row,omitempty" xml:"row>column,omitempty" doc:"the row that its last change was made of" nullable:"false"`
	RowDue       *time.Time  `json:"rowDue,omitempty" xml:"rowDue,omitempty" doc:"of the run that saw that row"`
}

// ValueForm is one column of a row.
type ValueForm struct {
	Name  string  `json:"name" xml:"name,attr"`
	Value *string `json:"value" xml:",chardata" doc:"null is NULL"`
}

// lookForm is what the source says now.
type lookForm struct {
	Answered  bool        `json:"answered" xml:"answered"`
	Reason    string      `json:"reason,omitempty" xml:"reason,omitempty" doc:"why it was not asked, or did not answer"`
	Rows      int         `json:"rows" xml:"rows" doc:"that were read until the row was found"`
	Found     bool        `json:"found" xml:"found" doc:"the probe returns the row"`
	Match     bool        `json:"match" xml:"match" doc:"it meets the condition"`
	Fault     string      `json:"fault,omitempty" xml:"fault,omitempty" doc:"why it cannot be judged or told"`
	Row       []ValueForm `json:"row,omitempty" xml:"row>column,omitempty" nullable:"false"`
	To        []string    `json:"to,omitempty" xml:"to,omitempty" doc:"where its notice would go: sms after 10m unless read" nullable:"false"`
	Condition []partForm  `json:"condition,omitempty" xml:"condition>part,omitempty" doc:"the condition and its parts" nullable:"false"`
}

// partForm is a part of the condition.
type partForm struct {
	Text    string `json:"text" xml:"text"`
	Depth   int    `json:"depth" xml:"depth,attr" doc:"0 for the whole"`
	Outcome string `json:"outcome" xml:"outcome" enum:"true,false,null,not reached,error"`
	Fault   string `json:"fault,omitempty" xml:"fault,omitempty"`
}

type heldForm struct {
	Code string `json:"code" xml:"code,attr" doc:"a stable word; docs/operations.md lists them"`
	Text string `json:"text" xml:",chardata"`
}

type nextForm struct {
	What string    `json:"what" xml:"what" enum:"fires,reminder,resolves,dropped,event"`
	Due  time.Time `json:"due" xml:"due" doc:"of the firing"`
	At   time.Time `json:"at" xml:"at" doc:"with the rule's jitter"`
}

// tracedForm is a notice and what became of it.
type tracedForm struct {
	ID         string               `json:"id" xml:"id"`
	Status     notice.Status        `json:"status" xml:"status"`
	Type       string               `json:"type" xml:"type"`
	Warehouse  string               `json:"warehouse" xml:"warehouse"`
	Title      string               `json:"title" xml:"title"`
	Priority   int                  `json:"priority" xml:"priority"`
	Key        string               `json:"key" xml:"key" doc:"another one where it was told in a group or a digest"`
	Count      int                  `json:"count" xml:"count"`
	CreatedAt  time.Time            `json:"createdAt" xml:"createdAt"`
	Deliveries []TracedDeliveryForm `json:"deliveries" xml:"delivery" nullable:"false"`
}

// TracedDeliveryForm is how a delivery of it stands.
type TracedDeliveryForm struct {
	Sink       string     `json:"sink" xml:"sink"`
	State      string     `json:"state" xml:"state" enum:"pending,sent,failed,timed_out,canceled"`
	Attempts   int        `json:"attempts" xml:"attempts"`
	SentAt     *time.Time `json:"sentAt,omitempty" xml:"sentAt,omitempty"`
	Error      string     `json:"error,omitempty" xml:"error,omitempty" doc:"of the last attempt"`
	Recipients []string   `json:"recipients,omitempty" xml:"recipient,omitempty" doc:"of the inbox; of a mail" nullable:"false"`
	Next       *time.Time `json:"next,omitempty" xml:"next,omitempty" doc:"pending, to a push channel: when it is tried, unless it waits for an earlier one of the finding"`
	Deadline   *time.Time `json:"deadline,omitempty" xml:"deadline,omitempty" doc:"pending, of strategy timed"`
}

func newWhyForm(w *why.Answer) *WhyForm {
	f := &WhyForm{
		Rule: w.Rule.ID, Scope: w.Rule.Scope, Title: w.Rule.Title, Key: w.Key, Asked: w.Asked, State: "none", More: w.More, Alike: w.Alike,
		Held: make([]heldForm, len(w.Reasons)), Told: make([]tracedForm, len(w.Notices)),
	}
	if w.Finding != nil {
		f.Finding = newFindingForm(w.Finding)
		f.State, f.Since = "pending", &f.Finding.OpenedAt
		if w.Finding.Phase == finding.Firing {
			f.State, f.Since = "firing", f.Finding.FiringSince
		}
	}
	if w.Look != nil {
		f.Look = newLookForm(w.Look)
	}
	for i, h := range w.Reasons {
		f.Held[i] = heldForm(h)
	}
	if w.Next != nil {
		f.Next = &nextForm{What: w.Next.What, Due: w.Next.Due, At: w.Next.At}
	}
	for i, t := range w.Notices {
		f.Told[i] = newTracedForm(&t, w.Waiting)
	}
	if w.LastRun != nil {
		f.LastRun = NewRunStatus(w.LastRun)
	}
	return f
}

func newFindingForm(f *ledger.Finding) *findingForm {
	form := &findingForm{
		Episode: notice.EpisodeAt(f.Episode), OpenedAt: f.Episode.UTC(), FiringSince: instant(f.FiringSince), AbsentSince: instant(f.AbsentSince), Priority: f.Priority,
		LastNotified: instant(f.LastNotified), Told: f.Ordinal, Notice: f.NoticeID, Group: f.Group, RowDue: instant(f.RowDue),
	}
	for _, c := range judge.RowColumns(f.Row) {
		form.Row = append(form.Row, ValueForm(c))
	}
	return form
}

func newLookForm(l *why.Look) *lookForm {
	form := &lookForm{
		Answered: l.Skipped == "" && l.Failed == "", Reason: l.Skipped + l.Failed, Rows: l.Rows, Found: l.Found, Match: l.Match, Fault: l.Fault, To: l.To,
	}
	if l.Row != nil {
		for i, c := range l.Row.Columns {
			form.Row = append(form.Row, ValueForm{c.Name, valueText(l.Row.Values[i])})
		}
	}
	for _, p := range l.Parts {
		form.Condition = append(form.Condition, partForm(p))
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

func newTracedForm(t *ledger.Traced, waiting []ledger.DeliveryRecord) tracedForm {
	n := t.Notice
	form := tracedForm{
		ID: n.ID, Status: n.Status, Type: n.Type, Warehouse: n.Warehouse, Title: n.Title, Priority: n.Priority, Key: n.Key, Count: n.Count,
		CreatedAt: n.CreatedAt.UTC(), Deliveries: make([]TracedDeliveryForm, len(t.Deliveries)),
	}
	for i, d := range t.Deliveries {
		form.Deliveries[i] = TracedDeliveryForm{
			Sink: d.Lane.Sink, State: d.State.String(), Attempts: d.Attempts, SentAt: instant(d.SentAt), Error: d.LastError, Recipients: d.Recipients,
		}
		at := slices.IndexFunc(waiting, func(r ledger.DeliveryRecord) bool { return r.Seq == d.Seq })
		if at >= 0 {
			form.Deliveries[i].Next, form.Deliveries[i].Deadline = instant(waiting[at].Next), instant(waiting[at].Deadline)
		}
	}
	return form
}

// instant is nil for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
