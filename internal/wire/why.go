package wire

import (
	"encoding/xml"
	"time"

	"tallyman/internal/notice"
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
	Finding *FindingForm `json:"finding,omitempty" xml:"finding,omitempty"`
	Look    *LookForm    `json:"look,omitempty" xml:"look,omitempty" doc:"the row as the source has it now"`
	Held    []HeldForm   `json:"held" xml:"held>reason" doc:"why it is not told now, or not where it would be" nullable:"false"`
	Next    *NextForm    `json:"next,omitempty" xml:"next,omitempty" doc:"what comes of it if nothing changes"`
	Told    []TracedForm `json:"told" xml:"told>notice" doc:"every notice of it, also of past episodes, the latest first" nullable:"false"`
	More    bool         `json:"more" xml:"more" doc:"there are older notices"`
	LastRun *RunStatus   `json:"lastRun,omitempty" xml:"lastRun,omitempty" doc:"of the rule in the scope"`
	Alike   []string     `json:"alike,omitempty" xml:"alike>key,omitempty" doc:"nothing is known of the key; these are open and look like it" nullable:"false"`
}

// FindingForm is the state of an open finding.
type FindingForm struct {
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

// LookForm is what the source says now.
type LookForm struct {
	Answered  bool        `json:"answered" xml:"answered"`
	Reason    string      `json:"reason,omitempty" xml:"reason,omitempty" doc:"why it was not asked, or did not answer"`
	Rows      int         `json:"rows" xml:"rows" doc:"that were read until the row was found"`
	Found     bool        `json:"found" xml:"found" doc:"the probe returns the row"`
	Match     bool        `json:"match" xml:"match" doc:"it meets the condition"`
	Fault     string      `json:"fault,omitempty" xml:"fault,omitempty" doc:"why it cannot be judged or told"`
	Row       []ValueForm `json:"row,omitempty" xml:"row>column,omitempty" nullable:"false"`
	To        []string    `json:"to,omitempty" xml:"to,omitempty" doc:"where its notice would go: sms after 10m unless read" nullable:"false"`
	Condition []PartForm  `json:"condition,omitempty" xml:"condition>part,omitempty" doc:"the condition and its parts" nullable:"false"`
}

// PartForm is a part of the condition.
type PartForm struct {
	Text    string `json:"text" xml:"text"`
	Depth   int    `json:"depth" xml:"depth,attr" doc:"0 for the whole"`
	Outcome string `json:"outcome" xml:"outcome" enum:"true,false,null,not reached,error"`
	Fault   string `json:"fault,omitempty" xml:"fault,omitempty"`
}

// HeldForm is a reason why a finding is not told now.
type HeldForm struct {
	Code string `json:"code" xml:"code,attr" doc:"a stable word; docs/operations.md lists them"`
	Text string `json:"text" xml:",chardata"`
}

// NextForm is what comes of a finding if nothing changes.
type NextForm struct {
	What string    `json:"what" xml:"what" enum:"fires,reminder,resolves,dropped,event"`
	Due  time.Time `json:"due" xml:"due" doc:"of the firing"`
	At   time.Time `json:"at" xml:"at" doc:"with the rule's jitter"`
}

// TracedForm is a notice and what became of it.
type TracedForm struct {
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
