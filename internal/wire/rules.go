package wire

import (
	"encoding/xml"
	"time"

	"tallyman/internal/notice"
)

// RulesForm is a page of rules, with facts about all rules.
type RulesForm struct {
	XMLName  xml.Name      `json:"-" xml:"rules"`
	Paused   *SwitchForm   `json:"paused,omitempty" xml:"paused,omitempty" doc:"present while every rule is stopped"`
	Rules    []RuleForm    `json:"rules" xml:"rule" doc:"the rules by id" nullable:"false"`
	Cursor   string        `json:"cursor,omitempty" xml:"cursor,omitempty" doc:"present where there are more: send it as after to get the next page"`
	Problems []FileProblem `json:"problems" xml:"problems>problem" doc:"problems of the rule files. While a file has problems, its last good version stays in force" nullable:"false"`
	Version  string        `json:"version" xml:"version" doc:"hash of the rules that the answering node runs"`
	Strays   []SwitchForm  `json:"strays,omitempty" xml:"strays>switch,omitempty" doc:"switches of rules or scopes that are in no rule file" nullable:"false"`
}

// RuleForm is a rule and its state in each scope.
type RuleForm struct {
	XMLName     xml.Name         `json:"-" xml:"rule"`
	ID          string           `json:"id" xml:"id"`
	Title       string           `json:"title,omitempty" xml:"title,omitempty"`
	Description string           `json:"description,omitempty" xml:"description,omitempty"`
	Owner       string           `json:"owner,omitempty" xml:"owner,omitempty"`
	RunbookURL  string           `json:"runbookUrl,omitempty" xml:"runbookUrl,omitempty"`
	Labels      notice.LabelForm `json:"labels,omitempty" xml:"labels,omitempty"`
	File        string           `json:"file" xml:"file"`
	Stale       bool             `json:"stale,omitempty" xml:"stale,omitempty" doc:"true where the rule's file is bad, and the last good version runs"`
	Source      string           `json:"source" xml:"source"`
	Mode        string           `json:"mode" xml:"mode" enum:"state,event"`
	Type        string           `json:"type" xml:"type" doc:"type of the rule's notices"`
	Scopes      []ScopeForm      `json:"scopes" xml:"scopes>scope" doc:"the scopes of the rule; one with an empty name where the rule has no scopes" nullable:"false"`
}

// ScopeForm is the state of a rule in one scope.
type ScopeForm struct {
	Scope       string      `json:"scope" xml:"scope"`
	Cron        string      `json:"cron" xml:"cron"`
	Timezone    string      `json:"timezone" xml:"timezone"`
	Enabled     bool        `json:"enabled" xml:"enabled" doc:"true where the rule runs: its file or a switch enables it"`
	FileEnabled bool        `json:"fileEnabled" xml:"fileEnabled" doc:"whether the rule file enables the rule"`
	Switch      *SwitchForm `json:"switch,omitempty" xml:"switch,omitempty" doc:"the switch by which an operator overrides the file"`
	Health      string      `json:"health" xml:"health" enum:"ok,degraded,failing,unverified,late,waiting,disabled" doc:"outcome of the last run, or: unverified = the source has not accepted the probe; late = the next firing is overdue; waiting = the rule has not run yet; disabled = a switch or the file disables the rule"`
	Verified    bool        `json:"verified" xml:"verified"`
	Reason      string      `json:"reason,omitempty" xml:"reason,omitempty" doc:"why the rule is not verified"`
	Late        bool        `json:"late,omitempty" xml:"late,omitempty" doc:"true where the next firing is overdue by more than one minute plus the rule's interval. At most five minutes of the interval count"`
	Overdue     float64     `json:"overdueSeconds,omitempty" xml:"overdueSeconds,omitempty" doc:"seconds by which the next firing is overdue"`
	Since       *time.Time  `json:"since,omitempty" xml:"since,omitempty" doc:"time since which the rule has been degraded, failing, unverified or late"`
	NextDue     *time.Time  `json:"nextDue,omitempty" xml:"nextDue,omitempty"`
	LastRun     *RunStatus  `json:"lastRun,omitempty" xml:"lastRun,omitempty"`
	Pending     int         `json:"pending" xml:"pending" doc:"number of pending findings"`
	Firing      int         `json:"firing" xml:"firing" doc:"number of firing findings"`
	Warnings    []string    `json:"warnings,omitempty" xml:"warnings>warning,omitempty" nullable:"false"`
	Shadow      bool        `json:"shadow,omitempty" xml:"shadow,omitempty"`
	Promoted    *time.Time  `json:"promoted,omitempty" xml:"promoted,omitempty"`
	Recent      *Recent     `json:"recent,omitempty" xml:"recent,omitempty"`
}

// SwitchForm is an operator's switch of a rule or a scope.
type SwitchForm struct {
	Rule   string     `json:"rule" xml:"rule" doc:"* = every rule"`
	Scope  string     `json:"scope" xml:"scope" doc:"* = the whole rule"`
	State  string     `json:"state" xml:"state" enum:"enabled,disabled"`
	Until  *time.Time `json:"until,omitempty" xml:"until,omitempty" doc:"when the switch ends by itself"`
	Reason string     `json:"reason,omitempty" xml:"reason,omitempty"`
	By     string     `json:"by" xml:"by"`
	At     time.Time  `json:"at" xml:"at"`
}

// SwitchAskForm says how long a new switch holds, and why.
type SwitchAskForm struct {
	Until  *time.Time `json:"until,omitempty" doc:"when the switch ends by itself. From then on the rule file decides again"`
	For    string     `json:"for,omitempty" doc:"duration from now, instead of until" example:"2h"`
	Reason string     `json:"reason,omitempty" maxLength:"200" example:"stocktake in aisle 7"`
}

// SwitchedForm is a rule after a switch.
type SwitchedForm struct {
	XMLName xml.Name    `json:"-" xml:"switched"`
	Rule    string      `json:"rule" xml:"rule"`
	Scopes  []ScopeForm `json:"scopes" xml:"scope" doc:"every scope of the rule; empty where no rule file has the rule any more" nullable:"false"`
}

// PausedForm has the switch that stops all rules, if there is one.
type PausedForm struct {
	XMLName xml.Name    `json:"-" xml:"paused"`
	Paused  *SwitchForm `json:"paused,omitempty" xml:"switch,omitempty"`
}

// OrderedForm is a firing that a client asked for.
type OrderedForm struct {
	XMLName xml.Name     `json:"-" xml:"ordered"`
	Rule    string       `json:"rule" xml:"rule"`
	Scope   string       `json:"scope" xml:"scope"`
	Due     time.Time    `json:"due" xml:"due"`
	Run     *RuleRunForm `json:"run,omitempty" xml:"run,omitempty" doc:"absent while the run has not ended. The run then appears among the rule's runs"`
}

// Reloaded is the result of reading the rule files again. Each scope of a rule counts.
type Reloaded struct {
	XMLName  xml.Name      `json:"-" xml:"reloaded"`
	Files    int           `json:"files" xml:"files"`
	Rules    int           `json:"rules" xml:"rules" doc:"number of rules in force"`
	Added    int           `json:"added" xml:"added"`
	Changed  int           `json:"changed" xml:"changed"`
	Removed  int           `json:"removed" xml:"removed"`
	Kept     int           `json:"kept" xml:"kept" doc:"number of rules whose last good version stays in force, because their file is bad"`
	Version  string        `json:"version" xml:"version" doc:"hash of the rules in force"`
	Problems []FileProblem `json:"problems" xml:"problems>problem" nullable:"false"`
}

// RunsForm is the latest runs of a rule.
type RunsForm struct {
	XMLName xml.Name      `json:"-" xml:"runs"`
	Runs    []RuleRunForm `json:"runs" xml:"run" doc:"the latest first" nullable:"false"`
}

// RuleRunForm is a run of a rule in a scope.
type RuleRunForm struct {
	Scope string `json:"scope" xml:"scope"`
	RunStatus
	Pending int `json:"pending" xml:"pending" doc:"number of pending findings after the run"`
	Firing  int `json:"firing" xml:"firing" doc:"number of firing findings after the run"`
}

// FindingsForm is the open findings of a rule.
type FindingsForm struct {
	XMLName  xml.Name          `json:"-" xml:"findings"`
	Findings []OpenFindingForm `json:"findings" xml:"finding" doc:"by scope and key" nullable:"false"`
	Total    int               `json:"total" xml:"total" doc:"number of open findings, with those that are not listed"`
}

// OpenFindingForm is an open finding.
type OpenFindingForm struct {
	Scope        string     `json:"scope" xml:"scope"`
	Key          string     `json:"key" xml:"key"`
	State        string     `json:"state" xml:"state" enum:"pending,firing"`
	Group        string     `json:"group,omitempty" xml:"group,omitempty"`
	Priority     int        `json:"priority,omitempty" xml:"priority,omitempty"`
	Since        time.Time  `json:"since" xml:"since" doc:"of a pending finding: when it was first seen. Of a firing finding: since when it fires"`
	AbsentSince  *time.Time `json:"absentSince,omitempty" xml:"absentSince,omitempty" doc:"no run has seen the finding since this time"`
	LastNotified *time.Time `json:"lastNotified,omitempty" xml:"lastNotified,omitempty"`
	Notices      int        `json:"notices" xml:"notices" doc:"number of notices that were made of the finding, without the notice of its resolution"`
	NoticeID     string     `json:"noticeId,omitempty" xml:"noticeId,omitempty" doc:"id of the last of these notices"`
	Withheld     string     `json:"withheld,omitempty" xml:"withheld,omitempty" enum:"baseline,silenced" doc:"why the finding makes no notice. baseline: its row existed at the first run, and the first run takes all rows as known. silenced: a silence withholds the notice of the last run"`
}

// PromotionsForm is the result of a promotion.
type PromotionsForm struct {
	XMLName    xml.Name        `json:"-" xml:"promotions"`
	Promotions []PromotionForm `json:"promotions" xml:"promotion" nullable:"false"`
}

// PromotionForm is a rule in a scope that was promoted.
type PromotionForm struct {
	Rule     string    `json:"rule" xml:"rule"`
	Scope    string    `json:"scope" xml:"scope" doc:"empty where the rule has no scopes"`
	Promoted time.Time `json:"promoted" xml:"promoted" doc:"the rule is live from its first run after this time. The time is in the past where the rule was promoted before"`
	By       string    `json:"by" xml:"by"`
}

// RuleSource is the text of a rule in the version that the node runs.
type RuleSource struct {
	XMLName  xml.Name      `json:"-" xml:"source"`
	Rule     string        `json:"rule" xml:"rule"`
	File     string        `json:"file" xml:"file"`
	Line     int           `json:"line" xml:"line" doc:"line in the file where the text begins, from 1"`
	Text     string        `json:"text" xml:"text" doc:"the rule's entry, as its file had it when the node loaded it, with indentation and comments. The defaults of the file are not part of it"`
	Version  string        `json:"version" xml:"version" doc:"hash of the rules that the answering node runs"`
	Problems []FileProblem `json:"problems" xml:"problems>problem" doc:"problems of the running rule: why it is not verified, and what to check. Lines and columns refer to the file" nullable:"false"`
	Warnings []FileProblem `json:"warnings" xml:"warnings>warning" doc:"warnings as from rules check --source: the rule runs, but probably not as its author meant. Lines and columns refer to the file. A warning is left out where its source does not answer within two seconds" nullable:"false"`
	Disk     *DiskSource   `json:"disk,omitempty" xml:"disk,omitempty" doc:"present where the file on the node's disk has another text: the node refused an edit, or the rule is gone. Only callers who see all warehouses get it"`
	Scopes   []string      `json:"-" xml:"-"`
}

// DiskSource is the text of a rule in the file on the node's disk, where the node runs another version.
type DiskSource struct {
	File     string        `json:"file,omitempty" xml:"file,omitempty"`
	Line     int           `json:"line,omitempty" xml:"line,omitempty"`
	Text     string        `json:"text,omitempty" xml:"text,omitempty"`
	Gone     bool          `json:"gone,omitempty" xml:"gone,omitempty" doc:"no file has the rule any more, or no file that has it can be read"`
	Problems []FileProblem `json:"problems" xml:"problems>problem" doc:"why the node refuses the file" nullable:"false"`
}

// WhyForm explains the state of one finding.
type WhyForm struct {
	XMLName xml.Name     `json:"-" xml:"why"`
	Rule    string       `json:"rule" xml:"rule"`
	Scope   string       `json:"scope" xml:"scope"`
	Title   string       `json:"title,omitempty" xml:"title,omitempty" doc:"title of the rule"`
	Key     string       `json:"key" xml:"key" doc:"the key as a canonical JSON array"`
	Asked   time.Time    `json:"asked" xml:"asked"`
	State   string       `json:"state" xml:"state" enum:"none,pending,firing" doc:"none: no finding is open"`
	Since   *time.Time   `json:"since,omitempty" xml:"since,omitempty" doc:"of a pending finding: when it was first seen. Of a firing finding: since when it fires"`
	Finding *FindingForm `json:"finding,omitempty" xml:"finding,omitempty"`
	Look    *LookForm    `json:"look,omitempty" xml:"look,omitempty" doc:"the row as the source has it now"`
	Held    []HeldForm   `json:"held" xml:"held>reason" doc:"why the finding makes no notice now, or why a delivery of its notice waits" nullable:"false"`
	Next    *NextForm    `json:"next,omitempty" xml:"next,omitempty" doc:"what happens to the finding next, if nothing changes"`
	Told    []TracedForm `json:"told" xml:"told>notice" doc:"the latest notices of the finding, also of earlier episodes, the latest first; at most 100" nullable:"false"`
	More    bool         `json:"more" xml:"more" doc:"true where there are older notices"`
	LastRun *RunStatus   `json:"lastRun,omitempty" xml:"lastRun,omitempty" doc:"last run of the rule in the scope"`
	Alike   []string     `json:"alike,omitempty" xml:"alike>key,omitempty" doc:"keys of open findings that look like the requested key. Present where nothing is known of the requested key" nullable:"false"`
}

// FindingForm is the state of an open finding.
type FindingForm struct {
	Episode      string      `json:"episode" xml:"episode" doc:"id of the episode; the notices of the finding carry it"`
	OpenedAt     time.Time   `json:"openedAt" xml:"openedAt" doc:"due time of the firing that opened the finding"`
	FiringSince  *time.Time  `json:"firingSince,omitempty" xml:"firingSince,omitempty"`
	AbsentSince  *time.Time  `json:"absentSince,omitempty" xml:"absentSince,omitempty" doc:"due time of the last run that saw the finding; absent where the latest run saw it"`
	Priority     int         `json:"priority,omitempty" xml:"priority,omitempty" doc:"priority in the last notice"`
	LastNotified *time.Time  `json:"lastNotified,omitempty" xml:"lastNotified,omitempty"`
	Told         int         `json:"told" xml:"told" doc:"number of notices that were made of the finding"`
	Notice       string      `json:"notice,omitempty" xml:"notice,omitempty" doc:"id of the last notice of the finding"`
	Group        string      `json:"group,omitempty" xml:"group,omitempty" doc:"key of the finding's group"`
	Withheld     string      `json:"withheld,omitempty" xml:"withheld,omitempty" enum:"baseline,silenced" doc:"why the finding makes no notice. baseline: its row existed at the first run, and the first run takes all rows as known. silenced: a silence withholds the notice of the last run"`
	Row          []ValueForm `json:"row,omitempty" xml:"row>column,omitempty" doc:"the row that caused the last change of the finding" nullable:"false"`
	RowDue       *time.Time  `json:"rowDue,omitempty" xml:"rowDue,omitempty" doc:"due time of the run that saw this row"`
}

// ValueForm is one column of a row.
type ValueForm struct {
	Name  string  `json:"name" xml:"name,attr"`
	Value *string `json:"value" xml:",chardata" doc:"null means NULL"`
}

// LookForm is the answer of the source about the finding's row.
type LookForm struct {
	Answered  bool        `json:"answered" xml:"answered"`
	Skipped   string      `json:"skipped,omitempty" xml:"skipped,omitempty" enum:"about_rule,group,unverified" doc:"why the source was not asked. about_rule: the finding is about the rule itself. group: the key belongs to a group. unverified: the rule cannot run"`
	Reason    string      `json:"reason,omitempty" xml:"reason,omitempty" doc:"why the source was not asked, or gave no answer"`
	Rows      int         `json:"rows" xml:"rows" doc:"number of rows that were read before the row was found"`
	Found     bool        `json:"found" xml:"found" doc:"true where the probe returns the row"`
	Match     bool        `json:"match" xml:"match" doc:"true where the row meets the condition"`
	Fault     string      `json:"fault,omitempty" xml:"fault,omitempty" doc:"why the row cannot be judged, or why its notice cannot be made"`
	Row       []ValueForm `json:"row,omitempty" xml:"row>column,omitempty" nullable:"false"`
	To        []string    `json:"to,omitempty" xml:"to,omitempty" doc:"sinks that the notice would go to, such as: sms after 10m unless read" nullable:"false"`
	Condition []PartForm  `json:"condition,omitempty" xml:"condition>part,omitempty" doc:"the condition and its parts, with their outcomes" nullable:"false"`
}

// PartForm is a part of the condition.
type PartForm struct {
	Text    string `json:"text" xml:"text"`
	Depth   int    `json:"depth" xml:"depth,attr" doc:"nesting depth; 0 for the whole condition"`
	Outcome string `json:"outcome" xml:"outcome" enum:"true,false,null,not reached,error"`
	Fault   string `json:"fault,omitempty" xml:"fault,omitempty"`
}

// HeldForm is a reason why a finding makes no notice now, or why a delivery of its notice waits.
type HeldForm struct {
	Code  string        `json:"code" xml:"code,attr" doc:"stable code of the reason; docs/how-to/ask-why.md lists the codes"`
	Text  string        `json:"text" xml:"text" doc:"the reason in English, with times in UTC"`
	Facts HeldFactsForm `json:"facts" xml:"facts" doc:"the facts in the text, for clients that write it in another language"`
}

// HeldFactsForm is the details of a reason.
type HeldFactsForm struct {
	At         *time.Time `json:"at,omitempty" xml:"at,omitempty" doc:"for keep_firing_for: the last run that saw the finding. For repeat: when the last notice was made. For deliveries: the next attempt"`
	Until      *time.Time `json:"until,omitempty" xml:"until,omitempty" doc:"when the switch or the silence ends. For a delivery that is tried again: its deadline"`
	SeenMS     int64      `json:"seenMs,omitempty" xml:"seenMs,omitempty" doc:"where the code is for or keep_firing_for: how long the row has been present or absent, in ms"`
	AskedMS    int64      `json:"askedMs,omitempty" xml:"askedMs,omitempty" doc:"how long the rule requires, in ms. For repeat: the rule's repeat_interval"`
	By         string     `json:"by,omitempty" xml:"by,omitempty" doc:"the operator who disabled the rule; absent where the rule file disables it"`
	All        bool       `json:"all,omitempty" xml:"all,omitempty" doc:"true where all rules are paused"`
	Reason     string     `json:"reason,omitempty" xml:"reason,omitempty" doc:"the reason that the author of the switch or silence gave"`
	Error      string     `json:"error,omitempty" xml:"error,omitempty"`
	Baseline   bool       `json:"baseline,omitempty" xml:"baseline,omitempty" doc:"true where the first run takes the rows that it sees as known"`
	Event      bool       `json:"event,omitempty" xml:"event,omitempty" doc:"true where the rule has mode event"`
	Result     bool       `json:"result,omitempty" xml:"result,omitempty" doc:"true where the rule judges its result as a whole"`
	Shadow     bool       `json:"shadow,omitempty" xml:"shadow,omitempty" doc:"true where the rule is in shadow"`
	Subscriber string     `json:"subscriber,omitempty" xml:"subscriber,omitempty" doc:"the only subscriber whose inbox has the notice"`
	Type       string     `json:"type,omitempty" xml:"type,omitempty"`
	Warehouse  string     `json:"warehouse,omitempty" xml:"warehouse,omitempty"`
	Columns    []string   `json:"columns,omitempty" xml:"columns>column,omitempty" doc:"columns whose change makes another notice" nullable:"false"`
	Joins      bool       `json:"joins,omitempty" xml:"joins,omitempty" doc:"true where another finding in the group makes another notice"`
	Rises      bool       `json:"rises,omitempty" xml:"rises,omitempty" doc:"true where a priority above the value of the field priority makes another notice"`
	Priority   int        `json:"priority,omitempty" xml:"priority,omitempty"`
	Count      int        `json:"count,omitempty" xml:"count,omitempty" doc:"for limit: other findings in the digest. For group: findings in the notice. For deliveries: other deliveries that wait for the same reason"`
	Most       int        `json:"most,omitempty" xml:"most,omitempty" doc:"value of the rule's limit.notices"`
	Key        string     `json:"key,omitempty" xml:"key,omitempty" doc:"key of the group"`
	Silences   []string   `json:"silences,omitempty" xml:"silences>silence,omitempty" doc:"ids of the silences" nullable:"false"`
	Sink       string     `json:"sink,omitempty" xml:"sink,omitempty"`
	Node       string     `json:"node,omitempty" xml:"node,omitempty"`
	Attempts   int        `json:"attempts,omitempty" xml:"attempts,omitempty"`
	Unless     string     `json:"unless,omitempty" xml:"unless,omitempty" enum:"read,acked,resolved" doc:"what would cancel the delivery"`
}

// NextForm is the next step of a finding, if nothing changes.
type NextForm struct {
	What string    `json:"what" xml:"what" enum:"fires,reminder,resolves,dropped,event"`
	Due  time.Time `json:"due" xml:"due" doc:"due time of the firing"`
	At   time.Time `json:"at" xml:"at" doc:"start of the run: the due time plus the rule's jitter"`
}

// TracedForm is a notice and its deliveries.
type TracedForm struct {
	ID         string               `json:"id" xml:"id"`
	Status     notice.Status        `json:"status" xml:"status"`
	Type       string               `json:"type" xml:"type"`
	Warehouse  string               `json:"warehouse" xml:"warehouse"`
	Title      string               `json:"title" xml:"title"`
	Priority   int                  `json:"priority" xml:"priority"`
	Key        string               `json:"key" xml:"key" doc:"key of the notice. It differs from the finding's key where the notice is of a group or a digest"`
	Count      int                  `json:"count" xml:"count"`
	CreatedAt  time.Time            `json:"createdAt" xml:"createdAt"`
	Deliveries []TracedDeliveryForm `json:"deliveries" xml:"delivery" nullable:"false"`
}

// TracedDeliveryForm is a delivery of a TracedForm.
type TracedDeliveryForm struct {
	Sink       string     `json:"sink" xml:"sink"`
	State      string     `json:"state" xml:"state" enum:"pending,sent,failed,timed_out,canceled"`
	Attempts   int        `json:"attempts" xml:"attempts"`
	SentAt     *time.Time `json:"sentAt,omitempty" xml:"sentAt,omitempty"`
	Error      string     `json:"error,omitempty" xml:"error,omitempty" doc:"error of the last attempt"`
	Recipients []string   `json:"recipients,omitempty" xml:"recipient,omitempty" doc:"recipients of the inbox or of the mail" nullable:"false"`
	Next       *time.Time `json:"next,omitempty" xml:"next,omitempty" doc:"of a pending delivery to a push channel: time of the next attempt, unless it waits for an earlier delivery of the same finding"`
	Deadline   *time.Time `json:"deadline,omitempty" xml:"deadline,omitempty" doc:"of a pending delivery with strategy timed: when its attempts end"`
}
