package wire

import (
	"encoding/xml"
	"time"

	"tallyman/internal/notice"
)

// PreviewAskForm asks for a preview of a rule.
type PreviewAskForm struct {
	Scope *string `json:"scope,omitempty" doc:"needed where the rule has several scopes"`
	At    string  `json:"at,omitempty" doc:"due time of the firing: RFC 3339, a local time in the rule's time zone, or a duration such as -1h; now by default" example:"-1h"`
	Limit int     `json:"limit,omitempty" minimum:"1" maximum:"200" default:"20" doc:"maximum number of rows, findings and notices in each list"`
}

// PreviewForm is the preview of a rule: the effect that a run would have now.
type PreviewForm struct {
	XMLName   xml.Name          `json:"-" xml:"preview"`
	Rule      string            `json:"rule" xml:"rule"`
	Scope     string            `json:"scope" xml:"scope"`
	Title     string            `json:"title,omitempty" xml:"title,omitempty" doc:"title of the rule"`
	Source    string            `json:"source" xml:"source"`
	Mode      string            `json:"mode" xml:"mode" enum:"state,event"`
	Due       time.Time         `json:"due" xml:"due" doc:"due time of the firing"`
	Timezone  string            `json:"timezone" xml:"timezone" doc:"time zone of the rule"`
	Enabled   bool              `json:"enabled" xml:"enabled"`
	Shadow    bool              `json:"shadow" xml:"shadow" doc:"true where the rule only delivers to its own inbox"`
	Known     bool              `json:"known" xml:"known" doc:"true where the ledger knows the rule; false where this would be the first run"`
	LastRun   *time.Time        `json:"lastRun,omitempty" xml:"lastRun,omitempty" doc:"due time of the last run"`
	Outcome   string            `json:"outcome" xml:"outcome" enum:"ok,degraded,failed"`
	Error     string            `json:"error,omitempty" xml:"error,omitempty" doc:"why the run would fail, with its code"`
	TookMS    int64             `json:"tookMs" xml:"tookMs"`
	Counts    CountsForm        `json:"counts" xml:"counts"`
	Plan      *PlanForm         `json:"plan,omitempty" xml:"plan,omitempty" doc:"plan of the probe, where the database gives one"`
	Watermark []MarkForm        `json:"watermark,omitempty" xml:"watermark>column,omitempty" doc:"for mode event: the position from which the run reads, and up to which" nullable:"false"`
	Columns   []ColumnForm      `json:"columns" xml:"columns>column" nullable:"false"`
	Rows      []RowForm         `json:"rows" xml:"rows>row" doc:"the rows; those that met the condition or could not be judged come first" nullable:"false"`
	Result    *JudgementForm    `json:"result,omitempty" xml:"result,omitempty" doc:"for per: result"`
	Findings  []AbsentForm      `json:"findings" xml:"findings>finding" doc:"known findings that have no row" nullable:"false"`
	Notices   []TriedNoticeForm `json:"notices" xml:"notices>entry" nullable:"false"`
	Later     []TriedNoticeForm `json:"later" xml:"later>entry" doc:"the notices of pending findings, if these findings last" nullable:"false"`
	LeftOut   LeftOutForm       `json:"leftOut" xml:"leftOut" doc:"number of entries that the lists leave out"`
	Notes     []string          `json:"notes" xml:"notes>note" doc:"important remarks" nullable:"false"`
}

// CountsForm is the counts of a previewed run.
type CountsForm struct {
	Rows    int `json:"rows" xml:"rows"`
	Matched int `json:"matched" xml:"matched"`
	Errored int `json:"errored" xml:"errored"`
	Pending int `json:"pending" xml:"pending" doc:"number of pending findings after the run"`
	Firing  int `json:"firing" xml:"firing"`
	Notices int `json:"notices" xml:"notices"`
}

// LeftOutForm is the number of entries that the lists leave out.
type LeftOutForm struct {
	Rows     int `json:"rows" xml:"rows"`
	Findings int `json:"findings" xml:"findings"`
	Notices  int `json:"notices" xml:"notices"`
	Later    int `json:"later" xml:"later"`
}

// PlanForm is how the database would run the probe.
type PlanForm struct {
	Cost    float64 `json:"cost" xml:"cost" doc:"cost in the database's own unit"`
	Shape   string  `json:"shape" xml:"shape"`
	MaxCost int     `json:"maxCost,omitempty" xml:"maxCost,omitempty" doc:"maximum cost that the rule allows"`
}

// MarkForm is a column of the watermark.
type MarkForm struct {
	Name   string  `json:"name" xml:"name,attr"`
	Before *string `json:"before" xml:"before"`
	After  *string `json:"after" xml:"after"`
}

// ColumnForm is a column of the probe.
type ColumnForm struct {
	Name   string `json:"name" xml:"name,attr"`
	Kind   string `json:"kind" xml:"kind,attr"`
	DBType string `json:"dbType,omitempty" xml:"dbType,attr,omitempty" doc:"the database's own name of the type"`
}

// RowForm is a row of the probe and its judgement.
type RowForm struct {
	Number int         `json:"number" xml:"number,attr" doc:"number of the row from 1, in the order of the probe"`
	Values []ValueForm `json:"values" xml:"column" nullable:"false"`
	JudgementForm
}

// JudgementForm is the outcome of the condition and its effect on the finding. The type is exported because the schema
// of a form has only the fields of embedded types that are exported.
type JudgementForm struct {
	Match   bool     `json:"match" xml:"match"`
	Because []string `json:"because,omitempty" xml:"because,omitempty" doc:"the parts of the condition that were not true" nullable:"false"`
	Error   string   `json:"error,omitempty" xml:"error,omitempty" doc:"why the row cannot be judged, or why its notice could not be made"`
	Key     string   `json:"key,omitempty" xml:"key,omitempty"`
	LifeForm
}

// LifeForm is the effect of a run on a finding.
type LifeForm struct {
	Fate   string     `json:"fate,omitempty" xml:"fate,omitempty" enum:"pends,fires,goes_on,reminded,rises,differs,told_again,resolves,dropped,kept,untouched,repeated,event,known_event,seen_before,baseline"`
	Since  *time.Time `json:"since,omitempty" xml:"since,omitempty" doc:"of a pending finding: when it was first seen. Of a firing finding: since when it fires"`
	Next   *time.Time `json:"next,omitempty" xml:"next,omitempty" doc:"pends: when the finding fires. kept: when it resolves. goes_on: when it makes its next notice"`
	Notice string     `json:"notice,omitempty" xml:"notice,omitempty" doc:"id of the finding's notice"`
	In     string     `json:"in,omitempty" xml:"in,omitempty" enum:"group,digest" doc:"kind of the notice, where the notice has other findings, too"`
}

// AbsentForm is a known finding that no row shows.
type AbsentForm struct {
	Key string `json:"key" xml:"key"`
	LifeForm
}

// TriedNoticeForm is a notice that the run would make, with its sinks and recipients.
type TriedNoticeForm struct {
	Notice   notice.Form       `json:"notice" xml:"notice"`
	Texts    []TranslationForm `json:"texts,omitempty" xml:"text,omitempty" doc:"title and body in other languages" nullable:"false"`
	Known    bool              `json:"known" xml:"known" doc:"true for an event that already has a notice: no second notice is made"`
	Silenced string            `json:"silenced,omitempty" xml:"silenced,omitempty" doc:"the silence that withholds the notice, and when it ends"`
	To       []DestinationForm `json:"to" xml:"to" nullable:"false"`
}

// TranslationForm is the title and body of a notice in one language.
type TranslationForm struct {
	Language string `json:"language" xml:"language,attr"`
	Title    string `json:"title" xml:"title"`
	Body     string `json:"body" xml:"body"`
}

// DestinationForm is a sink of a previewed notice.
type DestinationForm struct {
	Sink       string   `json:"sink" xml:"sink,attr"`
	Type       string   `json:"type" xml:"type,attr"`
	Strategy   string   `json:"strategy,omitempty" xml:"strategy,attr,omitempty" doc:"for a push channel" enum:"immediate,delayed,important,timed"`
	How        string   `json:"how,omitempty" xml:"how,omitempty" doc:"for a push channel: the strategy in words, such as after 10m unless read"`
	Recipients []string `json:"recipients,omitempty" xml:"recipient,omitempty" doc:"recipients of an inbox; of a mail, only those with an address" nullable:"false"`
	Note       string   `json:"note,omitempty" xml:"note,omitempty" doc:"why nobody gets the notice, or who else gets it"`
}

// DraftAskForm is a draft of a rule to try.
type DraftAskForm struct {
	Text  string  `json:"text" text:"lines" minLength:"1" maxLength:"65536" doc:"the rule's entry in YAML, as from /source: the list item with its dash, or only the mapping; at most 64 KB. The defaults of the rule's file apply"`
	Scope *string `json:"scope,omitempty" doc:"needed where the draft has several scopes"`
	At    string  `json:"at,omitempty" doc:"due time of the firing, as in a preview"`
	Limit int     `json:"limit,omitempty" minimum:"1" maximum:"200" default:"20" doc:"maximum number of rows, findings, notices and keys in each list"`
	Check bool    `json:"check,omitempty" doc:"only check the text, for example while somebody types it: the node asks no source, compares nothing, and writes no audit record"`
	File  bool    `json:"file,omitempty" doc:"add the rule's file to the answer, without and with the draft"`
}

// DraftForm is the check and the effect of a draft.
type DraftForm struct {
	XMLName  xml.Name           `json:"-" xml:"draft"`
	Rule     string             `json:"rule" xml:"rule"`
	Scope    string             `json:"scope" xml:"scope"`
	Problems []FileProblem      `json:"problems" xml:"problems>problem" doc:"problems of the draft. Lines and columns count in the text, with an empty file name; a problem elsewhere in the rule's file names the file. With any problem, the node would refuse the file" nullable:"false"`
	Fields   []ChangedFieldForm `json:"fields" xml:"fields>field" doc:"fields in which the draft differs from the running rule, in this scope" nullable:"false"`
	Warnings []string           `json:"warnings" xml:"warnings>warning" doc:"consequences of the change that are easy to overlook" nullable:"false"`
	Lints    []FileProblem      `json:"lints" xml:"lints>lint" doc:"warnings as from rules check --source: the draft would run, but probably not as its author means. Lines and columns count as in problems" nullable:"false"`
	Preview  *PreviewForm       `json:"preview,omitempty" xml:"preview,omitempty" doc:"preview of the draft; present where the draft would run"`
	Effect   *EffectForm        `json:"effect,omitempty" xml:"effect,omitempty" doc:"difference between the draft and the running rule, both run over one snapshot; present where the two differ and the source has snapshots"`
	Notes    []string           `json:"notes" xml:"notes>note" doc:"why a part of the answer is missing" nullable:"false"`
	File     *DraftFileForm     `json:"file,omitempty" xml:"file,omitempty" doc:"present where the request asks for it"`
}

// DraftFileForm is the file of a rule, without and with the draft.
type DraftFileForm struct {
	Name   string `json:"name" xml:"name"`
	Before string `json:"before" xml:"before" doc:"the file as the answering node has loaded it"`
	After  string `json:"after" xml:"after" doc:"the file with the draft in the place of the rule"`
}

// ChangedFieldForm is a field in which a draft differs.
type ChangedFieldForm struct {
	Path   string `json:"path" xml:"path" doc:"path of the field, as in a rule file" example:"schedule.cron"`
	Before string `json:"before" xml:"before" doc:"empty where the field is not set"`
	After  string `json:"after" xml:"after"`
}

// EffectForm compares the next run of the draft with the next run of the running version.
type EffectForm struct {
	From      string    `json:"from" xml:"from" enum:"ledger,old,none" doc:"state from which both versions start. ledger: the state in the ledger. old: as if the running version had made notices of all that it finds now. none: no state"`
	Running   *SideForm `json:"running,omitempty" xml:"running,omitempty" doc:"result of the running version; absent where it is disabled"`
	Draft     *SideForm `json:"draft,omitempty" xml:"draft,omitempty" doc:"result of the draft; absent where it is disabled"`
	Compared  bool      `json:"compared" xml:"compared" doc:"true where both versions could run; otherwise the lists are empty"`
	Fire      KeysForm  `json:"fire" xml:"fire" doc:"findings that only the draft makes a notice of; for mode event, rows"`
	Pend      KeysForm  `json:"pend" xml:"pend" doc:"findings that would be pending in the draft, and absent or firing in the running version"`
	Resolve   KeysForm  `json:"resolve" xml:"resolve" doc:"firing findings that the draft resolves"`
	Keep      KeysForm  `json:"keep" xml:"keep" doc:"findings with a notice: the draft keeps these findings open, and the running version ends them"`
	Drop      KeysForm  `json:"drop" xml:"drop" doc:"pending findings that the draft drops; for mode event, rows that make no notice in the draft"`
	Unchanged KeysForm  `json:"unchanged" xml:"unchanged"`
	Again     KeysForm  `json:"again" xml:"again" doc:"findings that have a notice: only the draft makes another notice of them. These findings also count in one of the other lists"`
}

// SideForm is the result of one version in an EffectForm: the running version or the draft.
type SideForm struct {
	Outcome string `json:"outcome" xml:"outcome" enum:"ok,degraded,failed"`
	Error   string `json:"error,omitempty" xml:"error,omitempty" doc:"why the version failed, or would not run"`
	Rows    int    `json:"rows" xml:"rows"`
	Matched int    `json:"matched" xml:"matched"`
	Errored int    `json:"errored" xml:"errored"`
	Notices int    `json:"notices" xml:"notices"`
}

// KeysForm is the number of findings with the same fate, and the first keys.
type KeysForm struct {
	Count int      `json:"count" xml:"count,attr"`
	Keys  []string `json:"keys" xml:"key" doc:"the first keys" nullable:"false"`
}
