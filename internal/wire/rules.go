package wire

import (
	"encoding/xml"
	"time"

	"tallyman/internal/notice"
)

// RulesForm is a page of the rules, and what holds for all of them.
type RulesForm struct {
	XMLName  xml.Name      `json:"-" xml:"rules"`
	Paused   *SwitchForm   `json:"paused,omitempty" xml:"paused,omitempty" doc:"every rule is stopped"`
	Rules    []RuleForm    `json:"rules" xml:"rule" doc:"by id" nullable:"false"`
	Cursor   string        `json:"cursor,omitempty" xml:"cursor,omitempty" doc:"after this id there are more"`
	Problems []FileProblem `json:"problems" xml:"problems>problem" doc:"of the rule files, each of which is in force as it was before" nullable:"false"`
	Version  string        `json:"version" xml:"version" doc:"a hash of the rules that the answering node runs"`
	Strays   []SwitchForm  `json:"strays,omitempty" xml:"strays>switch,omitempty" doc:"switches of rules or scopes that no file has" nullable:"false"`
}

// RuleForm is a rule and how it is in each scope.
type RuleForm struct {
	XMLName     xml.Name         `json:"-" xml:"rule"`
	ID          string           `json:"id" xml:"id"`
	Title       string           `json:"title,omitempty" xml:"title,omitempty"`
	Description string           `json:"description,omitempty" xml:"description,omitempty"`
	Owner       string           `json:"owner,omitempty" xml:"owner,omitempty"`
	RunbookURL  string           `json:"runbookUrl,omitempty" xml:"runbookUrl,omitempty"`
	Labels      notice.LabelForm `json:"labels,omitempty" xml:"labels,omitempty"`
	File        string           `json:"file" xml:"file"`
	Stale       bool             `json:"stale,omitempty" xml:"stale,omitempty" doc:"its file is bad: this is the last good version"`
	Source      string           `json:"source" xml:"source"`
	Mode        string           `json:"mode" xml:"mode" enum:"state,event"`
	Type        string           `json:"type" xml:"type" doc:"of its notices"`
	Scopes      []ScopeForm      `json:"scopes" xml:"scopes>scope" doc:"one, with an empty name, where the rule has no scopes" nullable:"false"`
}

// ScopeForm is a rule in a scope.
type ScopeForm struct {
	Scope       string      `json:"scope" xml:"scope"`
	Cron        string      `json:"cron" xml:"cron"`
	Timezone    string      `json:"timezone" xml:"timezone"`
	Enabled     bool        `json:"enabled" xml:"enabled" doc:"it runs, by its file or by a switch"`
	FileEnabled bool        `json:"fileEnabled" xml:"fileEnabled" doc:"what the file says"`
	Switch      *SwitchForm `json:"switch,omitempty" xml:"switch,omitempty" doc:"what an operator says instead"`
	Health      string      `json:"health" xml:"health" enum:"ok,degraded,failing,unverified,late,waiting,disabled" doc:"of its last run; late = its next firing is overdue; waiting = it has not run yet"`
	Verified    bool        `json:"verified" xml:"verified"`
	Reason      string      `json:"reason,omitempty" xml:"reason,omitempty" doc:"why it is not verified"`
	Late        bool        `json:"late,omitempty" xml:"late,omitempty" doc:"its next firing is overdue by more than a minute and its interval, of which five minutes count at most"`
	Overdue     float64     `json:"overdueSeconds,omitempty" xml:"overdueSeconds,omitempty" doc:"since when its next firing should have started"`
	Since       *time.Time  `json:"since,omitempty" xml:"since,omitempty" doc:"since when it is degraded, failing, unverified or late"`
	NextDue     *time.Time  `json:"nextDue,omitempty" xml:"nextDue,omitempty"`
	LastRun     *RunStatus  `json:"lastRun,omitempty" xml:"lastRun,omitempty"`
	Pending     int         `json:"pending" xml:"pending" doc:"findings that wait for their time"`
	Firing      int         `json:"firing" xml:"firing" doc:"findings that were told"`
	Warnings    []string    `json:"warnings,omitempty" xml:"warnings>warning,omitempty" nullable:"false"`
	Shadow      bool        `json:"shadow,omitempty" xml:"shadow,omitempty"`
	Promoted    *time.Time  `json:"promoted,omitempty" xml:"promoted,omitempty"`
	Recent      *Recent     `json:"recent,omitempty" xml:"recent,omitempty"`
}

// SwitchForm is what an operator has switched.
type SwitchForm struct {
	Rule   string     `json:"rule" xml:"rule" doc:"* = every rule"`
	Scope  string     `json:"scope" xml:"scope" doc:"* = the whole rule"`
	State  string     `json:"state" xml:"state" enum:"enabled,disabled"`
	Until  *time.Time `json:"until,omitempty" xml:"until,omitempty" doc:"when it ends by itself"`
	Reason string     `json:"reason,omitempty" xml:"reason,omitempty"`
	By     string     `json:"by" xml:"by"`
	At     time.Time  `json:"at" xml:"at"`
}

// SwitchAskForm says how long a switch holds, and why.
type SwitchAskForm struct {
	Until  *time.Time `json:"until,omitempty" doc:"when the switch ends by itself and the file counts again"`
	For    string     `json:"for,omitempty" doc:"instead of until: so long from now" example:"2h"`
	Reason string     `json:"reason,omitempty" maxLength:"200" example:"stocktake in aisle 7"`
}

// SwitchedForm is a rule after a switch.
type SwitchedForm struct {
	XMLName xml.Name    `json:"-" xml:"switched"`
	Rule    string      `json:"rule" xml:"rule"`
	Scopes  []ScopeForm `json:"scopes" xml:"scope" doc:"every scope of the rule; none where no file has it any more" nullable:"false"`
}

// PausedForm tells whether all rules are stopped.
type PausedForm struct {
	XMLName xml.Name    `json:"-" xml:"paused"`
	Paused  *SwitchForm `json:"paused,omitempty" xml:"switch,omitempty"`
}

// OrderedForm is a firing that was asked for.
type OrderedForm struct {
	XMLName xml.Name     `json:"-" xml:"ordered"`
	Rule    string       `json:"rule" xml:"rule"`
	Scope   string       `json:"scope" xml:"scope"`
	Due     time.Time    `json:"due" xml:"due"`
	Run     *RuleRunForm `json:"run,omitempty" xml:"run,omitempty" doc:"absent of one that has not ended: it will be among the rule's runs"`
}

// Reloaded is what reading the rule files again has changed. Each scope of a rule counts.
type Reloaded struct {
	XMLName  xml.Name      `json:"-" xml:"reloaded"`
	Files    int           `json:"files" xml:"files"`
	Rules    int           `json:"rules" xml:"rules" doc:"in force"`
	Added    int           `json:"added" xml:"added"`
	Changed  int           `json:"changed" xml:"changed"`
	Removed  int           `json:"removed" xml:"removed"`
	Kept     int           `json:"kept" xml:"kept" doc:"rules that stay as they were, because their file is bad"`
	Version  string        `json:"version" xml:"version" doc:"a hash of the rules in force"`
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
	Pending int `json:"pending" xml:"pending" doc:"findings after the run"`
	Firing  int `json:"firing" xml:"firing" doc:"findings after the run"`
}

// FindingsForm is the open findings of a rule.
type FindingsForm struct {
	XMLName  xml.Name          `json:"-" xml:"findings"`
	Findings []OpenFindingForm `json:"findings" xml:"finding" doc:"by scope and key" nullable:"false"`
	Total    int               `json:"total" xml:"total" doc:"that there are, listed or not"`
}

// OpenFindingForm is an open finding.
type OpenFindingForm struct {
	Scope        string     `json:"scope" xml:"scope"`
	Key          string     `json:"key" xml:"key"`
	State        string     `json:"state" xml:"state" enum:"pending,firing"`
	Group        string     `json:"group,omitempty" xml:"group,omitempty"`
	Priority     int        `json:"priority,omitempty" xml:"priority,omitempty"`
	Since        time.Time  `json:"since" xml:"since" doc:"of a pending one, when it was seen first; of a firing one, since when it fires"`
	AbsentSince  *time.Time `json:"absentSince,omitempty" xml:"absentSince,omitempty" doc:"no run has seen it since"`
	LastNotified *time.Time `json:"lastNotified,omitempty" xml:"lastNotified,omitempty"`
	Notices      int        `json:"notices" xml:"notices" doc:"that were made of it, without its resolution"`
	NoticeID     string     `json:"noticeId,omitempty" xml:"noticeId,omitempty" doc:"the last of them"`
	Withheld     string     `json:"withheld,omitempty" xml:"withheld,omitempty" enum:"baseline,silenced" doc:"why it is not told. baseline: its row was there at the first run, which took all rows as known. silenced: a silence holds back what the last run had to tell"`
}

// PromotionsForm is what a promotion has changed.
type PromotionsForm struct {
	XMLName    xml.Name        `json:"-" xml:"promotions"`
	Promotions []PromotionForm `json:"promotions" xml:"promotion" nullable:"false"`
}

// PromotionForm is a rule in a scope that is live.
type PromotionForm struct {
	Rule     string    `json:"rule" xml:"rule"`
	Scope    string    `json:"scope" xml:"scope" doc:"empty where the rule has no scopes"`
	Promoted time.Time `json:"promoted" xml:"promoted" doc:"live from the first run after it; earlier than now where it was promoted before"`
	By       string    `json:"by" xml:"by"`
}

// RuleSource is how a rule is written, in the version that the node runs.
type RuleSource struct {
	XMLName  xml.Name      `json:"-" xml:"source"`
	Rule     string        `json:"rule" xml:"rule"`
	File     string        `json:"file" xml:"file"`
	Line     int           `json:"line" xml:"line" doc:"of the text's beginning, from 1"`
	Text     string        `json:"text" xml:"text" doc:"the rule's entry as its file had it when it was loaded, with its indentation and comments; what the file's defaults add is not in it"`
	Version  string        `json:"version" xml:"version" doc:"a hash of the rules that the answering node runs"`
	Problems []FileProblem `json:"problems" xml:"problems>problem" doc:"of the rule as it runs: why it is not verified, and what to look at; places are those of the file" nullable:"false"`
	Warnings []FileProblem `json:"warnings" xml:"warnings>warning" doc:"what rules check --source warns of: the rule runs, but hardly as it was meant; places are those of the file. What a source does not tell within two seconds is left out" nullable:"false"`
	Disk     *DiskSource   `json:"disk,omitempty" xml:"disk,omitempty" doc:"where the node's file does not have this text: an edit that is refused, or a rule that is gone; for those who see all warehouses"`
	Scopes   []string      `json:"-" xml:"-"`
}

// DiskSource is how the node's file has a rule that runs in another version.
type DiskSource struct {
	File     string        `json:"file,omitempty" xml:"file,omitempty"`
	Line     int           `json:"line,omitempty" xml:"line,omitempty"`
	Text     string        `json:"text,omitempty" xml:"text,omitempty"`
	Gone     bool          `json:"gone,omitempty" xml:"gone,omitempty" doc:"no file has it any more, or none that can be read"`
	Problems []FileProblem `json:"problems" xml:"problems>problem" doc:"why its file is refused" nullable:"false"`
}

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
	Withheld     string      `json:"withheld,omitempty" xml:"withheld,omitempty" enum:"baseline,silenced" doc:"why it is not told. baseline: its row was there at the first run, which took all rows as known. silenced: a silence holds back what the last run had to tell"`
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
	Skipped   string      `json:"skipped,omitempty" xml:"skipped,omitempty" enum:"about_rule,group,unverified" doc:"why it was not asked: the finding is about the rule; the key is that of a group; the rule may not run"`
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
	Code  string        `json:"code" xml:"code,attr" doc:"a stable word; docs/how-to/ask-why.md lists them"`
	Text  string        `json:"text" xml:"text" doc:"in English, with times in UTC"`
	Facts HeldFactsForm `json:"facts" xml:"facts" doc:"what the text says, for those who word it in their own language"`
}

// HeldFactsForm is the particulars of a reason.
type HeldFactsForm struct {
	At         *time.Time `json:"at,omitempty" xml:"at,omitempty" doc:"keep_firing_for: the last run that saw it; repeat: when it was told; of deliveries: when they are tried"`
	Until      *time.Time `json:"until,omitempty" xml:"until,omitempty" doc:"when the switch or the silence ends; of a delivery that is tried again, its deadline"`
	SeenMS     int64      `json:"seenMs,omitempty" xml:"seenMs,omitempty" doc:"for, keep_firing_for: how long it has been so"`
	AskedMS    int64      `json:"askedMs,omitempty" xml:"askedMs,omitempty" doc:"how long the rule asks; repeat: its repeat_interval"`
	By         string     `json:"by,omitempty" xml:"by,omitempty" doc:"who has disabled the rule; absent where its file does"`
	All        bool       `json:"all,omitempty" xml:"all,omitempty" doc:"all rules are paused"`
	Reason     string     `json:"reason,omitempty" xml:"reason,omitempty" doc:"as whoever has disabled or silenced gave it"`
	Error      string     `json:"error,omitempty" xml:"error,omitempty"`
	Baseline   bool       `json:"baseline,omitempty" xml:"baseline,omitempty" doc:"the first run takes the rows that it sees as known"`
	Event      bool       `json:"event,omitempty" xml:"event,omitempty" doc:"the rule is of mode event"`
	Result     bool       `json:"result,omitempty" xml:"result,omitempty" doc:"the rule judges its result as a whole"`
	Shadow     bool       `json:"shadow,omitempty" xml:"shadow,omitempty" doc:"the rule is in shadow"`
	Subscriber string     `json:"subscriber,omitempty" xml:"subscriber,omitempty" doc:"whose inbox alone has it"`
	Type       string     `json:"type,omitempty" xml:"type,omitempty"`
	Warehouse  string     `json:"warehouse,omitempty" xml:"warehouse,omitempty"`
	Columns    []string   `json:"columns,omitempty" xml:"columns>column,omitempty" doc:"whose change is told again" nullable:"false"`
	Joins      bool       `json:"joins,omitempty" xml:"joins,omitempty" doc:"told again when another finding joins its group"`
	Rises      bool       `json:"rises,omitempty" xml:"rises,omitempty" doc:"told again when its priority rises above that of priority"`
	Priority   int        `json:"priority,omitempty" xml:"priority,omitempty"`
	Count      int        `json:"count,omitempty" xml:"count,omitempty" doc:"limit: other findings in the digest; group: findings in the notice; of deliveries: others that wait alike"`
	Most       int        `json:"most,omitempty" xml:"most,omitempty" doc:"limit.notices"`
	Key        string     `json:"key,omitempty" xml:"key,omitempty" doc:"of the group"`
	Silences   []string   `json:"silences,omitempty" xml:"silences>silence,omitempty" doc:"their ids" nullable:"false"`
	Sink       string     `json:"sink,omitempty" xml:"sink,omitempty"`
	Node       string     `json:"node,omitempty" xml:"node,omitempty"`
	Attempts   int        `json:"attempts,omitempty" xml:"attempts,omitempty"`
	Unless     string     `json:"unless,omitempty" xml:"unless,omitempty" enum:"read,acked,resolved" doc:"what would cancel the delivery"`
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
