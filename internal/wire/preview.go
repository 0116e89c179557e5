package wire

import (
	"encoding/xml"
	"time"

	"tallyman/internal/notice"
)

// PreviewAskForm says what is to be tried.
type PreviewAskForm struct {
	Scope *string `json:"scope,omitempty" doc:"needed where the rule has several"`
	At    string  `json:"at,omitempty" doc:"the firing's due time: RFC 3339, local in the rule's timezone, or a duration such as -1h; now by default" example:"-1h"`
	Limit int     `json:"limit,omitempty" minimum:"1" maximum:"200" default:"20" doc:"rows, findings and notices that are listed at most"`
}

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
	Counts    CountsForm        `json:"counts" xml:"counts"`
	Plan      *PlanForm         `json:"plan,omitempty" xml:"plan,omitempty" doc:"where the database says it"`
	Watermark []MarkForm        `json:"watermark,omitempty" xml:"watermark>column,omitempty" doc:"mode event: from where to where it reads" nullable:"false"`
	Columns   []ColumnForm      `json:"columns" xml:"columns>column" nullable:"false"`
	Rows      []RowForm         `json:"rows" xml:"rows>row" doc:"those that met the condition or could not be judged before the others" nullable:"false"`
	Result    *JudgementForm    `json:"result,omitempty" xml:"result,omitempty" doc:"per: result"`
	Findings  []AbsentForm      `json:"findings" xml:"findings>finding" doc:"known ones that no row shows" nullable:"false"`
	Notices   []TriedNoticeForm `json:"notices" xml:"notices>entry" nullable:"false"`
	Later     []TriedNoticeForm `json:"later" xml:"later>entry" doc:"what pending findings would be told as if they last" nullable:"false"`
	LeftOut   LeftOutForm       `json:"leftOut" xml:"leftOut" doc:"entries that the lists do not show"`
	Notes     []string          `json:"notes" xml:"notes>note" doc:"what must not be overlooked" nullable:"false"`
}

// CountsForm is what a run would count.
type CountsForm struct {
	Rows    int `json:"rows" xml:"rows"`
	Matched int `json:"matched" xml:"matched"`
	Errored int `json:"errored" xml:"errored"`
	Pending int `json:"pending" xml:"pending" doc:"findings after the run"`
	Firing  int `json:"firing" xml:"firing"`
	Notices int `json:"notices" xml:"notices"`
}

// LeftOutForm is how many entries the lists do not show.
type LeftOutForm struct {
	Rows     int `json:"rows" xml:"rows"`
	Findings int `json:"findings" xml:"findings"`
	Notices  int `json:"notices" xml:"notices"`
	Later    int `json:"later" xml:"later"`
}

// PlanForm is how the database would run the probe.
type PlanForm struct {
	Cost    float64 `json:"cost" xml:"cost" doc:"in the database's own unit"`
	Shape   string  `json:"shape" xml:"shape"`
	MaxCost int     `json:"maxCost,omitempty" xml:"maxCost,omitempty" doc:"what the rule allows"`
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

// RowForm is a row of the probe and what is judged of it.
type RowForm struct {
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
	Fate   string     `json:"fate,omitempty" xml:"fate,omitempty" enum:"pends,fires,goes_on,reminded,rises,differs,told_again,resolves,dropped,kept,untouched,repeated,event,known_event,seen_before,baseline"`
	Since  *time.Time `json:"since,omitempty" xml:"since,omitempty" doc:"pending: seen first; firing: fired"`
	Next   *time.Time `json:"next,omitempty" xml:"next,omitempty" doc:"pends: when it fires; kept: when it resolves; goes_on: when it is told again"`
	Notice string     `json:"notice,omitempty" xml:"notice,omitempty" doc:"id of the notice that tells it"`
	In     string     `json:"in,omitempty" xml:"in,omitempty" enum:"group,digest" doc:"where that notice tells others too"`
}

// AbsentForm is a known finding that no row shows.
type AbsentForm struct {
	Key string `json:"key" xml:"key"`
	LifeForm
}

// TriedNoticeForm is a notice that the run would make, and who would get it.
type TriedNoticeForm struct {
	Notice   notice.Form       `json:"notice" xml:"notice"`
	Texts    []TranslationForm `json:"texts,omitempty" xml:"text,omitempty" doc:"translations" nullable:"false"`
	Known    bool              `json:"known" xml:"known" doc:"an event that was told before: it is not told again"`
	Silenced string            `json:"silenced,omitempty" xml:"silenced,omitempty" doc:"the silence that holds it back, and until when"`
	To       []DestinationForm `json:"to" xml:"to" nullable:"false"`
}

// TranslationForm is a notice's texts in another language.
type TranslationForm struct {
	Language string `json:"language" xml:"language,attr"`
	Title    string `json:"title" xml:"title"`
	Body     string `json:"body" xml:"body"`
}

// DestinationForm is a sink that a notice would go to.
type DestinationForm struct {
	Sink       string   `json:"sink" xml:"sink,attr"`
	Type       string   `json:"type" xml:"type,attr"`
	Strategy   string   `json:"strategy,omitempty" xml:"strategy,attr,omitempty" doc:"of a push channel" enum:"immediate,delayed,important,timed"`
	How        string   `json:"how,omitempty" xml:"how,omitempty" doc:"of a push channel, in words: after 10m unless read"`
	Recipients []string `json:"recipients,omitempty" xml:"recipient,omitempty" doc:"of an inbox; of mail as far as they have an address" nullable:"false"`
	Note       string   `json:"note,omitempty" xml:"note,omitempty" doc:"why nobody gets it, or who else"`
}

// DraftAskForm is a draft of a rule that is to be tried.
type DraftAskForm struct {
	Text  string  `json:"text" text:"lines" minLength:"1" maxLength:"65536" doc:"the rule's entry in YAML, as /source has it: the item of the list with its dash, or the mapping alone; at most 64 KB. The file's defaults hold for it"`
	Scope *string `json:"scope,omitempty" doc:"needed where the draft has several"`
	At    string  `json:"at,omitempty" doc:"as of a preview"`
	Limit int     `json:"limit,omitempty" minimum:"1" maximum:"200" default:"20" doc:"rows, findings, notices and keys that are listed at most"`
	Check bool    `json:"check,omitempty" doc:"check the text alone, as while it is typed: no source is asked, nothing is compared, and the audit has no record of it"`
	File  bool    `json:"file,omitempty" doc:"answer with the rule's file, as it is and with the draft in its place"`
}

// DraftForm is what another text of a rule comes to.
type DraftForm struct {
	XMLName  xml.Name           `json:"-" xml:"draft"`
	Rule     string             `json:"rule" xml:"rule"`
	Scope    string             `json:"scope" xml:"scope"`
	Problems []FileProblem      `json:"problems" xml:"problems>problem" doc:"with places in the text, and an empty file; those that stand elsewhere in the rule's file name it. With one of them the file would be refused" nullable:"false"`
	Fields   []ChangedFieldForm `json:"fields" xml:"fields>field" doc:"in which the draft differs from what runs, in this scope" nullable:"false"`
	Warnings []string           `json:"warnings" xml:"warnings>warning" doc:"what a change does that is easily overlooked" nullable:"false"`
	Lints    []FileProblem      `json:"lints" xml:"lints>lint" doc:"what rules check --source warns of: the draft would run, but hardly as it is meant; places are those of problems" nullable:"false"`
	Preview  *PreviewForm       `json:"preview,omitempty" xml:"preview,omitempty" doc:"of the draft; there where it would run"`
	Effect   *EffectForm        `json:"effect,omitempty" xml:"effect,omitempty" doc:"of the draft in the place of what runs, both run over one snapshot; there where they differ, and the source has snapshots"`
	Notes    []string           `json:"notes" xml:"notes>note" doc:"why something is not there" nullable:"false"`
	File     *DraftFileForm     `json:"file,omitempty" xml:"file,omitempty" doc:"where the request asks for it"`
}

// DraftFileForm is the file of a rule, and what a draft makes of it.
type DraftFileForm struct {
	Name   string `json:"name" xml:"name"`
	Before string `json:"before" xml:"before" doc:"as the answering node has loaded it"`
	After  string `json:"after" xml:"after" doc:"with the draft in the place of the rule"`
}

// ChangedFieldForm is a field in which a draft differs.
type ChangedFieldForm struct {
	Path   string `json:"path" xml:"path" doc:"as in a rule file" example:"schedule.cron"`
	Before string `json:"before" xml:"before" doc:"empty where it is not set"`
	After  string `json:"after" xml:"after"`
}

// EffectForm is what the next run would make other than that of the running version.
type EffectForm struct {
	From      string    `json:"from" xml:"from" enum:"ledger,old,none" doc:"the state that both begin with: the ledger's; as if the running version had told all that it finds now; or nothing"`
	Running   *SideForm `json:"running,omitempty" xml:"running,omitempty" doc:"left out where it is disabled"`
	Draft     *SideForm `json:"draft,omitempty" xml:"draft,omitempty" doc:"left out where it is disabled"`
	Compared  bool      `json:"compared" xml:"compared" doc:"both could be run; without it the lists are empty"`
	Fire      KeysForm  `json:"fire" xml:"fire" doc:"told by the draft only; of mode event, rows"`
	Pend      KeysForm  `json:"pend" xml:"pend" doc:"wait for their time in the draft, and would not be there or would fire now"`
	Resolve   KeysForm  `json:"resolve" xml:"resolve" doc:"firing, and gone in the draft"`
	Keep      KeysForm  `json:"keep" xml:"keep" doc:"told already: they go on in the draft, and would be gone"`
	Drop      KeysForm  `json:"drop" xml:"drop" doc:"pending, and gone in the draft; of mode event, rows that are not told"`
	Unchanged KeysForm  `json:"unchanged" xml:"unchanged"`
	Again     KeysForm  `json:"again" xml:"again" doc:"told already, and told again by the draft only; counted besides"`
}

// SideForm is what one of the two versions would do.
type SideForm struct {
	Outcome string `json:"outcome" xml:"outcome" enum:"ok,degraded,failed"`
	Error   string `json:"error,omitempty" xml:"error,omitempty" doc:"why it failed, or would not run"`
	Rows    int    `json:"rows" xml:"rows"`
	Matched int    `json:"matched" xml:"matched"`
	Errored int    `json:"errored" xml:"errored"`
	Notices int    `json:"notices" xml:"notices"`
}

// KeysForm says how many findings share a fate, and the keys of the first.
type KeysForm struct {
	Count int      `json:"count" xml:"count,attr"`
	Keys  []string `json:"keys" xml:"key" doc:"the first of them" nullable:"false"`
}
