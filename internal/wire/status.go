package wire

import (
	"encoding/xml"
	"time"
)

// StatusReport is the answer of GET /status: the node, its dependencies, and the state of its rules and deliveries.
type StatusReport struct {
	XMLName    xml.Name        `json:"-" xml:"status"`
	Version    string          `json:"version" xml:"version" doc:"version of the program"`
	Node       string          `json:"node" xml:"node" doc:"name of the node that answers"`
	Started    time.Time       `json:"started" xml:"started"`
	Health     []Health        `json:"health" xml:"health>dependency" doc:"the dependencies of the node, and how each one is" nullable:"false"`
	Clock      *ClockForm      `json:"clock,omitempty" xml:"clock,omitempty" doc:"state of the ledger's clock; absent in the demo, which has its own clock"`
	Nodes      []NodeStatus    `json:"nodes" xml:"nodes>node" doc:"the running nodes, with the node that answers" nullable:"false"`
	Paused     *SwitchForm     `json:"paused,omitempty" xml:"paused,omitempty" doc:"present while every rule is stopped"`
	Rules      []RuleStatus    `json:"rules" xml:"rules>rule" doc:"one entry for each rule in each of its scopes" nullable:"false"`
	Problems   []FileProblem   `json:"problems" xml:"problems>problem" doc:"problems of the rule files that are not in force" nullable:"false"`
	Warnings   []string        `json:"warnings,omitempty" xml:"warning,omitempty" doc:"warnings that stop nothing, each with its code. Today: subscriptions that no rule of the node serves. The list has the first 20, then the number of the rest. A type that only business systems send is not known here" nullable:"false"`
	Sinks      []SinkForm      `json:"sinks" xml:"sinks>sink" doc:"the sinks by name, each with the age of its oldest waiting delivery" nullable:"false"`
	Deliveries []DeliveryCount `json:"deliveries" xml:"deliveries>delivery" doc:"number of deliveries for each sink and state. Each count stops at 10000; 10000 means 10000 or more" nullable:"false"`
}

// Health is the state of one dependency of the node.
type Health struct {
	Part  string     `json:"part" xml:"part" enum:"clock,drain,ledger,commits,redis,restore,retention,rules,scopes,sink,source,subscriptions,tls" doc:"the kind of dependency. clock: present only while the ledger's clock has jumped ahead and an operator should confirm it. drain: present only while this node goes out of service. commits: the ledger refuses commits, or refused some within the last minute. restore: present for one day after a node found that the ledger was restored from a copy; it names each queue that withholds items since then. retention: present only while this node cannot remove old data. rules: present only while rule files are not in force because the ledger could not record them. scopes: present only while the scopes of a rule do not follow the query that lists them. subscriptions: present only while the subscriptions of a source do not follow the source"`
	Name  string     `json:"name,omitempty" xml:"name,omitempty" doc:"name of the source (also for subscriptions), the rule (for scopes), the push channel, the queue, or the sink that uses Redis"`
	OK    bool       `json:"ok" xml:"ok"`
	Error string     `json:"error,omitempty" xml:"error,omitempty" doc:"why the dependency is not ok"`
	Since *time.Time `json:"since,omitempty" xml:"since,omitempty" doc:"time since which the dependency has been in this state"`
}

// NodeStatus is the state of a node of the cluster.
type NodeStatus struct {
	Name    string    `json:"name" xml:"name"`
	Version string    `json:"version" xml:"version" doc:"version of the node's program"`
	Rules   string    `json:"rules" xml:"rules" doc:"hash of the rules that the node runs"`
	Differs bool      `json:"differs,omitempty" xml:"differs,omitempty" doc:"true where the node runs another program or other rules than the node that answers"`
	Started time.Time `json:"started" xml:"started"`
	Changed time.Time `json:"changed" xml:"changed" doc:"time since which the node has run these rules"`
	Seen    time.Time `json:"seen" xml:"seen" doc:"time of the node's last sign of life. A node gives eight signs in each node.lease; after one node.lease without a sign the node counts as gone"`

	Lanes []HeldLanes `json:"lanes" xml:"lanes>sink" doc:"the lanes that the node drains now, by sink" nullable:"false"`
}

// HeldLanes are the lanes of a sink that a node holds.
type HeldLanes struct {
	Sink       string   `json:"sink" xml:"name,attr" doc:"name of the sink"`
	Warehouses []string `json:"warehouses" xml:"warehouse" doc:"warehouses of the lanes; empty for a sink with one lane for all warehouses" nullable:"false"`
}

// RuleStatus is the state of a rule in one scope.
type RuleStatus struct {
	ID       string      `json:"id" xml:"id"`
	Scope    string      `json:"scope" xml:"scope" doc:"empty where the rule has no scopes"`
	Title    string      `json:"title,omitempty" xml:"title,omitempty"`
	Source   string      `json:"source" xml:"source"`
	File     string      `json:"file" xml:"file"`
	Enabled  bool        `json:"enabled" xml:"enabled" doc:"true where the rule runs: its file or a switch enables it"`
	Switch   *SwitchForm `json:"switch,omitempty" xml:"switch,omitempty" doc:"the switch by which an operator overrides the file"`
	Stale    bool        `json:"stale,omitempty" xml:"stale,omitempty" doc:"true where the rule's file is bad, and the last good version runs"`
	Verified bool        `json:"verified" xml:"verified" doc:"true where the source has prepared the rule's probe. An unverified rule does not run"`
	Reason   string      `json:"reason,omitempty" xml:"reason,omitempty" doc:"why the rule is not verified"`
	Late     bool        `json:"late,omitempty" xml:"late,omitempty" doc:"true where the next firing is overdue by more than one minute plus the rule's interval. At most five minutes of the interval count. A disabled rule is never late"`
	Overdue  float64     `json:"overdueSeconds,omitempty" xml:"overdueSeconds,omitempty" doc:"seconds by which the next firing is overdue"`
	Since    *time.Time  `json:"since,omitempty" xml:"since,omitempty" doc:"time since which the rule has been unverified, late or not ok"`
	NextDue  *time.Time  `json:"nextDue,omitempty" xml:"nextDue,omitempty"`
	LastRun  *RunStatus  `json:"lastRun,omitempty" xml:"lastRun,omitempty"`
	Warnings []string    `json:"warnings,omitempty" xml:"warnings>warning,omitempty" doc:"warnings that do not stop the rule, each with its code" nullable:"false"`
	Shadow   bool        `json:"shadow,omitempty" xml:"shadow,omitempty" doc:"true where the rule's file puts it in shadow. Until it is promoted, its notices go only to the inbox of shadow:<id>"`
	Promoted *time.Time  `json:"promoted,omitempty" xml:"promoted,omitempty" doc:"time since which the rule has been live, although its file puts it in shadow"`
	Recent   *Recent     `json:"recent,omitempty" xml:"recent,omitempty"`
	Pending  int         `json:"pending" xml:"pending" doc:"number of pending findings"`
	Firing   int         `json:"firing" xml:"firing" doc:"number of firing findings"`
}

// Recent sums up the runs that the ledger keeps of a rule in a scope.
type Recent struct {
	Runs      int64   `json:"runs" xml:"runs" doc:"number of runs that the ledger keeps of the rule, about 100"`
	Rows      int64   `json:"rows" xml:"rows" doc:"number of rows that the probes of these runs returned"`
	Errored   int64   `json:"errored" xml:"errored" doc:"number of these rows that could not be judged, or whose notice could not be made"`
	ErrorRate float64 `json:"errorRate" xml:"errorRate" doc:"errored / rows, from 0 to 1"`

	Notices int64     `json:"notices" xml:"notices" doc:"number of notices that these runs made"`
	First   time.Time `json:"first" xml:"first" doc:"when the first of these runs was due"`

	DurationsMS []int64 `json:"durationsMs" xml:"durationsMs>run" doc:"durations of the last 20 runs that were not skipped, the latest last" nullable:"false"`
	Outcomes    string  `json:"outcomes" xml:"outcomes" doc:"outcomes of the same runs, one letter each: o = ok, d = degraded, f = failed" example:"ooodf"`
}

// RunStatus is the run of one firing.
type RunStatus struct {
	Due          time.Time `json:"due" xml:"due"`
	Started      time.Time `json:"started" xml:"started"`
	DurationMS   int64     `json:"durationMs" xml:"durationMs"`
	Node         string    `json:"node" xml:"node"`
	Outcome      string    `json:"outcome" xml:"outcome" enum:"ok,degraded,failed,skipped"`
	Rows         int       `json:"rows" xml:"rows" doc:"number of rows that the probe returned"`
	Matched      int       `json:"matched" xml:"matched" doc:"number of rows that met the condition and whose notice could be made"`
	Errored      int       `json:"errored" xml:"errored" doc:"number of rows that could not be judged, or whose notice could not be made"`
	Notices      int       `json:"notices" xml:"notices" doc:"number of notices that the run made"`
	Unsubscribed int       `json:"unsubscribed" xml:"unsubscribed" doc:"number of deliveries to inboxes and by mail that were not made, because nobody subscribes"`
	Strays       int       `json:"strays,omitempty" xml:"strays,omitempty" doc:"number of rows that split_by assigns to no scope of the rule. Only one scope of a scan counts these rows"`
	Error        string    `json:"error,omitempty" xml:"error,omitempty"`
	Samples      []string  `json:"samples,omitempty" xml:"samples>sample,omitempty" doc:"examples of the errors that degraded the run" nullable:"false"`
}

// FileProblem is a fault in a rule file.
type FileProblem struct {
	Code    string `json:"code" xml:"code"`
	File    string `json:"file" xml:"file"`
	Line    int    `json:"line" xml:"line" doc:"counted from 1; 0 means the whole file"`
	Col     int    `json:"col" xml:"col"`
	Message string `json:"message" xml:"message"`
	Hint    string `json:"hint,omitempty" xml:"hint,omitempty"`
	Rule    string `json:"rule,omitempty" xml:"rule,omitempty"`
}

// DeliveryCount is the number of deliveries of a sink that are in one state.
type DeliveryCount struct {
	Sink  string `json:"sink" xml:"sink"`
	State string `json:"state" xml:"state" enum:"pending,sent,failed,timed_out,canceled"`
	Count int64  `json:"count" xml:"count"`
}

// OverviewForm is the state of the whole system at a glance.
type OverviewForm struct {
	XMLName       xml.Name           `json:"-" xml:"overview"`
	At            time.Time          `json:"at" xml:"at" doc:"time when these facts were read"`
	Node          string             `json:"node" xml:"node" doc:"name of the node that answers"`
	Version       string             `json:"version" xml:"version" doc:"version of the program"`
	Rules         RuleHealthForm     `json:"rules" xml:"rules" doc:"number of rules by health, for the warehouses asked for and for rules without scopes. Each scope of a rule counts"`
	Paused        *SwitchForm        `json:"paused,omitempty" xml:"paused,omitempty" doc:"present while every rule is stopped"`
	Problems      int                `json:"problems" xml:"problems" doc:"number of problems in the rule files; GET /rules lists them"`
	ProblemsSince *time.Time         `json:"problemsSince,omitempty" xml:"problemsSince,omitempty" doc:"time since which the rule files have had problems"`
	Notices       NoticeCountsForm   `json:"notices" xml:"notices" doc:"number of notices that were made for these warehouses"`
	Findings      []FindingCountForm `json:"findings" xml:"findings>warehouse" doc:"number of open findings by the warehouse of their notice. A finding without a notice counts under its scope" nullable:"false"`
	Queues        []QueueForm        `json:"queues" xml:"queues>queue" doc:"the queues by name" nullable:"false"`
	Sinks         []SinkForm         `json:"sinks" xml:"sinks>sink" doc:"the sinks by name" nullable:"false"`
	Nodes         []NodeStatus       `json:"nodes" xml:"nodes>node" doc:"the running nodes, with the node that answers" nullable:"false"`
	Health        []Health           `json:"health" xml:"health>dependency" doc:"the dependencies of the node, and how each one is" nullable:"false"`
	Stale         []string           `json:"stale,omitempty" xml:"stale>part,omitempty" enum:"rules,notices,findings,queues,sinks" doc:"the parts of this answer that could not be read. Such a part is empty or has its earlier values, and health says why" nullable:"false"`
	StaleSince    *time.Time         `json:"staleSince,omitempty" xml:"staleSince,omitempty" doc:"time since which at least one part was missing on every reading"`
}

// RuleHealthForm is the number of rules by health. Each scope of a rule counts.
type RuleHealthForm struct {
	OK         int `json:"ok" xml:"ok,attr"`
	Degraded   int `json:"degraded" xml:"degraded,attr"`
	Failing    int `json:"failing" xml:"failing,attr"`
	Unverified int `json:"unverified" xml:"unverified,attr"`
	Late       int `json:"late" xml:"late,attr" doc:"rules whose next firing is overdue; unverified rules do not count here"`
	Waiting    int `json:"waiting" xml:"waiting,attr"`
	Disabled   int `json:"disabled" xml:"disabled,attr"`
	Shadow     int `json:"shadow" xml:"shadow,attr" doc:"rules in shadow that are not promoted; each one also counts under its health"`

	DegradedSince   *time.Time `json:"degradedSince,omitempty" xml:"degradedSince,omitempty" doc:"earliest time since which one of the degraded rules has not been ok"`
	FailingSince    *time.Time `json:"failingSince,omitempty" xml:"failingSince,omitempty" doc:"earliest time since which one of the failing rules has not been ok"`
	UnverifiedSince *time.Time `json:"unverifiedSince,omitempty" xml:"unverifiedSince,omitempty" doc:"earliest time since which the node that answers cannot verify one of these rules"`
	LateSince       *time.Time `json:"lateSince,omitempty" xml:"lateSince,omitempty" doc:"due time of the firing that has been overdue longest"`
}

// NoticeCountsForm is the number of notices that were made recently.
type NoticeCountsForm struct {
	Hours    []NoticeHourForm `json:"hours" xml:"hour" doc:"the last 24 hours; the last entry is the hour that is not over yet" nullable:"false"`
	LastHour int64            `json:"lastHour" xml:"lastHour,attr" doc:"notices of the last 60 minutes, with the minute that is not over yet"`
}

// NoticeHourForm is the number of notices that were made in one hour.
type NoticeHourForm struct {
	Start  time.Time `json:"start" xml:"start,attr"`
	Count  int64     `json:"count" xml:"count,attr"`
	Urgent int64     `json:"urgent" xml:"urgent,attr" doc:"number of these notices with priority 4 or 5"`
}

// FindingCountForm is the number of open findings in one warehouse.
type FindingCountForm struct {
	Warehouse string `json:"warehouse" xml:"name,attr" doc:"empty for findings of rules without scopes that have no notice yet"`
	Firing    int64  `json:"firing" xml:"firing,attr"`
	Pending   int64  `json:"pending" xml:"pending,attr"`
}
