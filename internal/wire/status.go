package wire

import (
	"encoding/xml"
	"time"
)

// StatusReport is what GET /status answers: the node, what it reaches, and how its rules and deliveries are.
type StatusReport struct {
	XMLName    xml.Name        `json:"-" xml:"status"`
	Version    string          `json:"version" xml:"version" doc:"of the program"`
	Node       string          `json:"node" xml:"node" doc:"the name of the node that answers"`
	Started    time.Time       `json:"started" xml:"started"`
	Health     []Health        `json:"health" xml:"health>dependency" doc:"what the node depends on" nullable:"false"`
	Clock      *ClockForm      `json:"clock,omitempty" xml:"clock,omitempty" doc:"how the ledger's clock stands; not of the demo, which has its own"`
	Nodes      []NodeStatus    `json:"nodes" xml:"nodes>node" doc:"that run, the one that answers among them" nullable:"false"`
	Paused     *SwitchForm     `json:"paused,omitempty" xml:"paused,omitempty" doc:"every rule is stopped"`
	Rules      []RuleStatus    `json:"rules" xml:"rules>rule" doc:"every rule in every scope" nullable:"false"`
	Problems   []FileProblem   `json:"problems" xml:"problems>problem" doc:"of the rule files that are not in force" nullable:"false"`
	Warnings   []string        `json:"warnings,omitempty" xml:"warning,omitempty" doc:"what keeps nothing from working, each with its code: subscriptions that no rule of the node serves, the first 20 and how many more there are. What business systems send is not known" nullable:"false"`
	Sinks      []SinkForm      `json:"sinks" xml:"sinks>sink" doc:"in the order of their names, with the age of the oldest delivery that waits" nullable:"false"`
	Deliveries []DeliveryCount `json:"deliveries" xml:"deliveries>delivery" doc:"by sink and state; each is counted up to 10000, which stands for so many or more" nullable:"false"`
}

// Health is how one thing is that the node depends on.
type Health struct {
	Part  string     `json:"part" xml:"part" enum:"clock,ledger,commits,redis,restore,retention,rules,scopes,sink,source,subscriptions,tls" doc:"what it is; clock: only where an operator should confirm that of the ledger, which went ahead; commits: what the ledger refuses, or has refused within the last minute; restore: only for a day after a node found that the ledger had been restored from a copy, and with the name of each queue that withholds items since; retention: only where this node could not remove what is old; rules: only where rule files are not in force, because that could not be recorded; scopes: only where those of a rule do not follow the query that lists them; subscriptions: only where those of a source do not follow it"`
	Name  string     `json:"name,omitempty" xml:"name,omitempty" doc:"the name of the source, also of subscriptions, of the rule whose scopes a query lists, of the push channel, of the queue, or of the sink that uses Redis"`
	OK    bool       `json:"ok" xml:"ok"`
	Error string     `json:"error,omitempty" xml:"error,omitempty" doc:"why not"`
	Since *time.Time `json:"since,omitempty" xml:"since,omitempty" doc:"how long it has been so"`
}

// NodeStatus is a node of the cluster.
type NodeStatus struct {
	Name    string    `json:"name" xml:"name"`
	Version string    `json:"version" xml:"version" doc:"of its program"`
	Rules   string    `json:"rules" xml:"rules" doc:"a hash of the rules that it runs"`
	Differs bool      `json:"differs,omitempty" xml:"differs,omitempty" doc:"it runs another program or other rules than the node that answers"`
	Started time.Time `json:"started" xml:"started"`
	Changed time.Time `json:"changed" xml:"changed" doc:"since when it runs these rules"`
	Seen    time.Time `json:"seen" xml:"seen" doc:"when it was last there; it says so eight times in the length of node.lease, and after that length it is gone"`

	Lanes []HeldLanes `json:"lanes" xml:"lanes>sink" doc:"that it drains at this moment, by sink" nullable:"false"`
}

// HeldLanes are the lanes of a sink that a node holds.
type HeldLanes struct {
	Sink       string   `json:"sink" xml:"name,attr" doc:"its name"`
	Warehouses []string `json:"warehouses" xml:"warehouse" doc:"empty of a sink whose one lane is for all warehouses" nullable:"false"`
}

// RuleStatus is a rule in a scope.
type RuleStatus struct {
	ID       string      `json:"id" xml:"id"`
	Scope    string      `json:"scope" xml:"scope" doc:"empty where the rule has no scopes"`
	Title    string      `json:"title,omitempty" xml:"title,omitempty"`
	Source   string      `json:"source" xml:"source"`
	File     string      `json:"file" xml:"file"`
	Enabled  bool        `json:"enabled" xml:"enabled" doc:"it runs, by its file or by a switch"`
	Switch   *SwitchForm `json:"switch,omitempty" xml:"switch,omitempty" doc:"what an operator says instead of the file"`
	Stale    bool        `json:"stale,omitempty" xml:"stale,omitempty" doc:"its file is bad: this is the last good version"`
	Verified bool        `json:"verified" xml:"verified" doc:"its probe was prepared on the source; a rule that is not does not run"`
	Reason   string      `json:"reason,omitempty" xml:"reason,omitempty" doc:"why it is not verified"`
	Late     bool        `json:"late,omitempty" xml:"late,omitempty" doc:"its next firing is overdue by more than a minute and its interval, of which five minutes count at most; a rule that is disabled is not late"`
	Overdue  float64     `json:"overdueSeconds,omitempty" xml:"overdueSeconds,omitempty" doc:"since when its next firing should have started"`
	Since    *time.Time  `json:"since,omitempty" xml:"since,omitempty" doc:"since when it is not verified, late, or not ok"`
	NextDue  *time.Time  `json:"nextDue,omitempty" xml:"nextDue,omitempty"`
	LastRun  *RunStatus  `json:"lastRun,omitempty" xml:"lastRun,omitempty"`
	Warnings []string    `json:"warnings,omitempty" xml:"warnings>warning,omitempty" doc:"what does not keep it from running, each with its code" nullable:"false"`
	Shadow   bool        `json:"shadow,omitempty" xml:"shadow,omitempty" doc:"its file has it in shadow: it tells the inbox of shadow:<id> alone until it is promoted"`
	Promoted *time.Time  `json:"promoted,omitempty" xml:"promoted,omitempty" doc:"live since, although its file has it in shadow"`
	Recent   *Recent     `json:"recent,omitempty" xml:"recent,omitempty"`
	Pending  int         `json:"pending" xml:"pending" doc:"findings that wait for their time"`
	Firing   int         `json:"firing" xml:"firing" doc:"findings that were told"`
}

// Recent sums up the runs of a rule in a scope that the ledger keeps.
type Recent struct {
	Runs      int64   `json:"runs" xml:"runs" doc:"that the ledger keeps of it, 100 or so"`
	Rows      int64   `json:"rows" xml:"rows" doc:"that their probes returned"`
	Errored   int64   `json:"errored" xml:"errored" doc:"of those, the ones that could not be judged or told"`
	ErrorRate float64 `json:"errorRate" xml:"errorRate" doc:"errored / rows, from 0 to 1"`

	DurationsMS []int64 `json:"durationsMs" xml:"durationsMs>run" doc:"of the last 20 that were not skipped, the latest last" nullable:"false"`
	Outcomes    string  `json:"outcomes" xml:"outcomes" doc:"of the same runs, a letter each: o = ok, d = degraded, f = failed" example:"ooodf"`
}

// RunStatus is the execution of one firing.
type RunStatus struct {
	Due          time.Time `json:"due" xml:"due"`
	Started      time.Time `json:"started" xml:"started"`
	DurationMS   int64     `json:"durationMs" xml:"durationMs"`
	Node         string    `json:"node" xml:"node"`
	Outcome      string    `json:"outcome" xml:"outcome" enum:"ok,degraded,failed,skipped"`
	Rows         int       `json:"rows" xml:"rows" doc:"that the probe returned"`
	Matched      int       `json:"matched" xml:"matched" doc:"that met the condition and could be told"`
	Errored      int       `json:"errored" xml:"errored" doc:"that could not be judged or told"`
	Notices      int       `json:"notices" xml:"notices" doc:"that the run made"`
	Unsubscribed int       `json:"unsubscribed" xml:"unsubscribed" doc:"that nobody subscribes to"`
	Strays       int       `json:"strays,omitempty" xml:"strays,omitempty" doc:"rows that split_by gives to no scope of the rule; one scope of a scan counts them"`
	Error        string    `json:"error,omitempty" xml:"error,omitempty"`
	Samples      []string  `json:"samples,omitempty" xml:"samples>sample,omitempty" doc:"of what degraded the run" nullable:"false"`
}

// FileProblem is a fault in a rule file.
type FileProblem struct {
	Code    string `json:"code" xml:"code"`
	File    string `json:"file" xml:"file"`
	Line    int    `json:"line" xml:"line" doc:"from 1; 0 means the file as a whole"`
	Col     int    `json:"col" xml:"col"`
	Message string `json:"message" xml:"message"`
	Hint    string `json:"hint,omitempty" xml:"hint,omitempty"`
	Rule    string `json:"rule,omitempty" xml:"rule,omitempty"`
}

// DeliveryCount is how many deliveries of a sink are in a state.
type DeliveryCount struct {
	Sink  string `json:"sink" xml:"sink"`
	State string `json:"state" xml:"state" enum:"pending,sent,failed,timed_out,canceled"`
	Count int64  `json:"count" xml:"count"`
}

// OverviewForm is how everything is, at a glance.
type OverviewForm struct {
	XMLName       xml.Name           `json:"-" xml:"overview"`
	At            time.Time          `json:"at" xml:"at" doc:"when this was looked up"`
	Node          string             `json:"node" xml:"node" doc:"the name of the node that answers"`
	Version       string             `json:"version" xml:"version" doc:"of the program"`
	Rules         RuleHealthForm     `json:"rules" xml:"rules" doc:"each scope of a rule counts; of the warehouses, and those without scopes"`
	Paused        *SwitchForm        `json:"paused,omitempty" xml:"paused,omitempty" doc:"every rule is stopped"`
	Problems      int                `json:"problems" xml:"problems" doc:"of the rule files, which GET /rules lists"`
	ProblemsSince *time.Time         `json:"problemsSince,omitempty" xml:"problemsSince,omitempty" doc:"since when the rule files have problems"`
	Notices       NoticeCountsForm   `json:"notices" xml:"notices" doc:"that were made, for these warehouses"`
	Findings      []FindingCountForm `json:"findings" xml:"findings>warehouse" doc:"that are open, by the warehouse of their notice; before there is one, by their scope" nullable:"false"`
	Queues        []QueueForm        `json:"queues" xml:"queues>queue" doc:"in the order of their names" nullable:"false"`
	Sinks         []SinkForm         `json:"sinks" xml:"sinks>sink" doc:"in the order of their names" nullable:"false"`
	Nodes         []NodeStatus       `json:"nodes" xml:"nodes>node" doc:"that run, the one that answers among them" nullable:"false"`
	Health        []Health           `json:"health" xml:"health>dependency" doc:"what the node depends on" nullable:"false"`
	Stale         []string           `json:"stale,omitempty" xml:"stale>part,omitempty" enum:"rules,notices,findings,queues,sinks" doc:"parts that could not be looked up: they are as they were before, or empty, and health says why" nullable:"false"`
	StaleSince    *time.Time         `json:"staleSince,omitempty" xml:"staleSince,omitempty" doc:"when a look at the parts first lacked one of them; each look since then has lacked some"`
}

// RuleHealthForm is how many rules are in which health, each scope for itself.
type RuleHealthForm struct {
	OK         int `json:"ok" xml:"ok,attr"`
	Degraded   int `json:"degraded" xml:"degraded,attr"`
	Failing    int `json:"failing" xml:"failing,attr"`
	Unverified int `json:"unverified" xml:"unverified,attr"`
	Late       int `json:"late" xml:"late,attr" doc:"whose next firing is overdue, those that are unverified apart"`
	Waiting    int `json:"waiting" xml:"waiting,attr"`
	Disabled   int `json:"disabled" xml:"disabled,attr"`
	Shadow     int `json:"shadow" xml:"shadow,attr" doc:"of all these, those in shadow that are not promoted"`

	DegradedSince   *time.Time `json:"degradedSince,omitempty" xml:"degradedSince,omitempty" doc:"since when the first of the degraded is not ok"`
	FailingSince    *time.Time `json:"failingSince,omitempty" xml:"failingSince,omitempty" doc:"since when the first of the failing is not ok"`
	UnverifiedSince *time.Time `json:"unverifiedSince,omitempty" xml:"unverifiedSince,omitempty" doc:"since when the node that answers cannot verify the first of them"`
	LateSince       *time.Time `json:"lateSince,omitempty" xml:"lateSince,omitempty" doc:"when the firing was due that is overdue for longest"`
}

// NoticeCountsForm is how many notices were made lately.
type NoticeCountsForm struct {
	Hours    []NoticeHourForm `json:"hours" xml:"hour" doc:"the last 24, the running one among them as the last" nullable:"false"`
	LastHour int64            `json:"lastHour" xml:"lastHour,attr" doc:"in the last 60 minutes, the running one among them"`
}

// NoticeHourForm is how many notices were made in an hour.
type NoticeHourForm struct {
	Start  time.Time `json:"start" xml:"start,attr"`
	Count  int64     `json:"count" xml:"count,attr"`
	Urgent int64     `json:"urgent" xml:"urgent,attr" doc:"of those, the ones of priority 4 and 5"`
}

// FindingCountForm is how many findings are open in a warehouse.
type FindingCountForm struct {
	Warehouse string `json:"warehouse" xml:"name,attr" doc:"empty: of rules without scopes, before there is a notice"`
	Firing    int64  `json:"firing" xml:"firing,attr"`
	Pending   int64  `json:"pending" xml:"pending,attr"`
}
