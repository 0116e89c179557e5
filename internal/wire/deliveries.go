package wire

import (
	"encoding/xml"
	"time"
)

// DeliveryForm is a delivery in its present state.
type DeliveryForm struct {
	XMLName     xml.Name      `json:"-" xml:"delivery"`
	ID          int64         `json:"id" xml:"id" doc:"number of the delivery"`
	Sink        string        `json:"sink" xml:"sink"`
	State       string        `json:"state" xml:"state" enum:"pending,sent,failed,timed_out,canceled"`
	Flag        int           `json:"flag" xml:"flag" doc:"the state as a number: 0 pending, 1 sent, 2 failed, 3 timed out, 4 canceled"`
	Notice      string        `json:"notice" xml:"notice" doc:"id of the notice"`
	Type        string        `json:"type" xml:"type"`
	Warehouse   string        `json:"warehouse" xml:"warehouse"`
	Rule        string        `json:"rule,omitempty" xml:"rule,omitempty" doc:"absent where a business system sent the notice"`
	Status      string        `json:"status" xml:"status" enum:"firing,resolved,event,sent" doc:"status of the notice"`
	Title       string        `json:"title" xml:"title" doc:"title of the notice"`
	Recipients  []string      `json:"recipients,omitempty" xml:"recipient,omitempty" doc:"recipients of the notice; absent where the sink has no recipients" nullable:"false"`
	Strategy    *StrategyForm `json:"strategy,omitempty" xml:"strategy,omitempty" doc:"absent for the inbox and queues: attempts go on until the sink has taken the notice"`
	Attempts    int           `json:"attempts" xml:"attempts"`
	LastError   string        `json:"lastError,omitempty" xml:"lastError,omitempty" doc:"error of the last failed attempt, or why the delivery was canceled"`
	NextAttempt *time.Time    `json:"nextAttempt,omitempty" xml:"nextAttempt,omitempty" doc:"earliest time of the next attempt. While a node holds the delivery: when another node may take it over"`
	Deadline    *time.Time    `json:"deadline,omitempty" xml:"deadline,omitempty" doc:"for strategy timed: when the attempts end"`
	Behind      bool          `json:"behind,omitempty" xml:"behind,omitempty" doc:"true while an earlier delivery of the same finding to the same sink must go first"`
	InFront     int64         `json:"inFront,omitempty" xml:"inFront,omitempty" doc:"where behind is true: number of the delivery that goes first"`
	HeldBy      string        `json:"heldBy,omitempty" xml:"heldBy,omitempty" doc:"id of the silence that withholds the delivery. The delivery is checked again at nextAttempt, or when somebody ends the silence"`
	Node        string        `json:"node,omitempty" xml:"node,omitempty" doc:"node that holds the delivery now"`
	CreatedAt   time.Time     `json:"createdAt" xml:"createdAt" doc:"when the notice was made"`
	ExpiresAt   *time.Time    `json:"expiresAt,omitempty" xml:"expiresAt,omitempty" doc:"when the notice expires. A delivery that is pending then is canceled, unless its strategy has until: sent"`
	SentAt      *time.Time    `json:"sentAt,omitempty" xml:"sentAt,omitempty"`
	// LastAttempts is only in the answer about a single delivery.
	LastAttempts []AttemptForm `json:"lastAttempts,omitempty" xml:"lastAttempt,omitempty" doc:"the last 20 attempts, the latest first; absent in lists" nullable:"false"`
}

// AttemptForm is one attempt of a delivery.
type AttemptForm struct {
	At         time.Time `json:"at" xml:"at" doc:"when the attempt began"`
	DurationMS int64     `json:"durationMs,omitempty" xml:"durationMs,omitempty" doc:"length of the attempt, rounded up; absent where the inbox or a queue took the delivery at the first attempt"`
	Status     int       `json:"status,omitempty" xml:"status,omitempty" doc:"status code of the answer, from HTTP or SMTP; absent where there was no answer" example:"503"`
	Refused    bool      `json:"refused,omitempty" xml:"refused,omitempty" doc:"true where the other side will never take the delivery, so further attempts are useless"`
	Error      string    `json:"error,omitempty" xml:"error,omitempty" doc:"why the attempt failed; absent where the other side took the delivery. An attempt that ended because the node stopped says so, and does not count"`
}

// StrategyForm says when and how often a push channel is tried.
type StrategyForm struct {
	Kind   string     `json:"kind" xml:"kind" enum:"immediate,delayed,important,timed"`
	Delay  string     `json:"delay,omitempty" xml:"delay,omitempty" doc:"for delayed: time from the notice to the first attempt" example:"10m"`
	At     *time.Time `json:"at,omitempty" xml:"at,omitempty" doc:"for delayed: time of the first attempt, instead of a delay"`
	Within string     `json:"within,omitempty" xml:"within,omitempty" doc:"for timed: how long the delivery is tried"`
	Retry  int        `json:"retry,omitempty" xml:"retry,omitempty" doc:"for delayed: number of attempts after the first"`
	Unless string     `json:"unless,omitempty" xml:"unless,omitempty" enum:"read,acked,resolved" doc:"for delayed: what cancels the delivery while it waits"`
	Until  string     `json:"until,omitempty" xml:"until,omitempty" enum:"sent" doc:"for important: with sent, attempts go on after the notice has expired"`
}

// DeliveriesForm is a page of deliveries.
type DeliveriesForm struct {
	XMLName    xml.Name       `json:"-" xml:"deliveries"`
	Deliveries []DeliveryForm `json:"deliveries" xml:"delivery" doc:"the latest first" nullable:"false"`
	Cursor     string         `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"present where there are more: send it as after to get the next page"`
}

// DeliveryCausesForm is the causes of failed deliveries, the most frequent cause first.
type DeliveryCausesForm struct {
	XMLName xml.Name            `json:"-" xml:"causes"`
	Causes  []DeliveryCauseForm `json:"causes" xml:"cause" nullable:"false"`
}

// DeliveryCauseForm is the deliveries of one sink that failed or timed out for the same cause. GET /deliveries and
// POST /deliveries/retry take sink, state and cause as a filter.
type DeliveryCauseForm struct {
	Sink      string `json:"sink" xml:"sink"`
	State     string `json:"state" xml:"state" enum:"failed,timed_out"`
	Cause     string `json:"cause" xml:"cause" doc:"status of the latest answer, or timeout, unanswered, none (no attempt was made), or refused: with the status after a colon" example:"503"`
	Refused   bool   `json:"refused,omitempty" xml:"refused,omitempty" doc:"true where the other side will never take these deliveries, so further attempts are useless"`
	Count     int64  `json:"count" xml:"count" doc:"number among the deliveries that were read: up to 10,000 for each sink and state"`
	Last      int64  `json:"last" xml:"last" doc:"number of the latest delivery"`
	LastError string `json:"lastError,omitempty" xml:"lastError,omitempty" doc:"error of the latest delivery"`
}

// DeliveryChoice chooses deliveries by number or by filter.
type DeliveryChoice struct {
	IDs    []int64             `json:"ids,omitempty" maxItems:"1000" minimum:"1" doc:"numbers of deliveries" nullable:"false"`
	Filter *DeliveryFilterForm `json:"filter,omitempty" doc:"all deliveries that meet every condition here, instead of ids. The filter needs one condition at least"`
}

// DeliveryFilterForm is the conditions that chosen deliveries meet.
type DeliveryFilterForm struct {
	Sink      string   `json:"sink,omitempty"`
	State     []string `json:"state,omitempty" doc:"deliveries in one of these states" enum:"pending,sent,failed,timed_out,canceled" nullable:"false"`
	Held      bool     `json:"held,omitempty" doc:"deliveries that wait although their time has come: a silence withholds them, or an earlier delivery of the same finding must go first"`
	Warehouse string   `json:"warehouse,omitempty" digits:"true" doc:"warehouse of the notice"`
	Type      string   `json:"type,omitempty" digits:"true" doc:"type of the notice: code or id"`
	Rule      string   `json:"rule,omitempty" doc:"rule of the notice"`
	Notice    string   `json:"notice,omitempty" doc:"id of the notice"`
	Cause     string   `json:"cause,omitempty" maxLength:"20" doc:"why the delivery failed, as named by GET /deliveries/causes" example:"503"`
	After     string   `json:"after,omitempty" doc:"cursor of the previous answer, to go on from there"`
}

// CancelForm is the reason of a cancellation.
type CancelForm struct {
	Reason string `json:"reason,omitempty" maxLength:"200" doc:"shown as the delivery's last error" example:"the gateway had it by phone"`
}

// CancelManyForm chooses deliveries to cancel, and gives the reason.
type CancelManyForm struct {
	DeliveryChoice
	CancelForm
}

// ChangedForm is the result of a change of deliveries.
type ChangedForm struct {
	XMLName xml.Name `json:"-" xml:"changed"`
	Changed int      `json:"changed" xml:"changed" doc:"number of changed deliveries; the others stay as they are"`
	IDs     []int64  `json:"ids,omitempty" xml:"ids>id,omitempty" doc:"which of the named deliveries were changed" nullable:"false"`
	Cursor  string   `json:"cursor,omitempty" xml:"cursor,omitempty" doc:"present where there are more: repeat the request with it as after in the filter"`
}

// SinksForm is all sinks.
type SinksForm struct {
	XMLName xml.Name   `json:"-" xml:"sinks"`
	Sinks   []SinkForm `json:"sinks" xml:"sink" doc:"in the order of their names" nullable:"false"`
}

// SinkForm is a sink and its state.
type SinkForm struct {
	XMLName    xml.Name          `json:"-" xml:"sink"`
	Name       string            `json:"name" xml:"name"`
	Type       string            `json:"type" xml:"type"`
	OK         bool              `json:"ok" xml:"ok" doc:"true where the last calls by the answering node succeeded, so the sink takes deliveries"`
	Error      string            `json:"error,omitempty" xml:"error,omitempty" doc:"why the sink is not ok"`
	Deliveries StateCountsForm   `json:"deliveries" xml:"deliveries" doc:"number of deliveries in the ledger by state. Each count stops at 10000; 10000 means 10000 or more"`
	Oldest     *time.Time        `json:"oldest,omitempty" xml:"oldest,omitempty" doc:"time since which the oldest pending delivery could have been delivered; absent where no delivery waits. Deliveries that a silence withholds or a strategy delays do not count"`
	OldestSecs float64           `json:"oldestSeconds,omitempty" xml:"oldestSeconds,omitempty" doc:"age of this delivery in seconds"`
	Failed     *time.Time        `json:"failedSince,omitempty" xml:"failedSince,omitempty" doc:"when the first of the failed deliveries failed"`
	Push       *PushStatusForm   `json:"push,omitempty" xml:"push,omitempty" doc:"of a push channel: its state on the answering node"`
	Settings   *PushSettingsForm `json:"settings,omitempty" xml:"settings,omitempty" doc:"of a push channel: its settings in the configuration"`
}

// PushSettingsForm is the settings of a push channel.
type PushSettingsForm struct {
	Timeout     string `json:"timeout" xml:"timeout"`
	Concurrency int    `json:"concurrency" xml:"concurrency" doc:"maximum number of calls at a time on each node"`
	Rate        string `json:"rate" xml:"rate" doc:"maximum rate of calls on each node; none = no limit" example:"50/s"`
	Failures    int    `json:"failures" xml:"failures" doc:"number of failures in a row that opens the breaker"`
	Open        string `json:"open" xml:"open" doc:"how long the breaker stays open"`
	BatchMax    int    `json:"batchMax" xml:"batchMax" doc:"maximum number of deliveries in one call"`
	BatchWait   string `json:"batchWait" xml:"batchWait" doc:"how long the first delivery of a call waits for more, at most"`
}

// PushStatusForm is the state of a push channel on the node that answers.
type PushStatusForm struct {
	Breaker     BreakerForm `json:"breaker" xml:"breaker"`
	HeldUntil   *time.Time  `json:"heldUntil,omitempty" xml:"heldUntil,omitempty" doc:"the other side wants no calls until this time (Retry-After)"`
	InFlight    int         `json:"inFlight" xml:"inFlight" doc:"number of deliveries that are being tried"`
	Waiting     int         `json:"waiting" xml:"waiting" doc:"number of deliveries that the node holds and tries next"`
	LastSent    *time.Time  `json:"lastSent,omitempty" xml:"lastSent,omitempty" doc:"time of the last success since the node started"`
	LastError   string      `json:"lastError,omitempty" xml:"lastError,omitempty"`
	LastErrorAt *time.Time  `json:"lastErrorAt,omitempty" xml:"lastErrorAt,omitempty"`
}

// BreakerForm is the state of a breaker.
type BreakerForm struct {
	State    string     `json:"state" xml:"state" enum:"closed,open,half_open" doc:"open: no delivery is tried. half_open: one delivery is tried, and its result decides"`
	Since    time.Time  `json:"since" xml:"since"`
	Until    *time.Time `json:"until,omitempty" xml:"until,omitempty" doc:"while open: when one delivery is tried"`
	Failures int        `json:"failures" xml:"failures" doc:"transient errors in a row while the breaker is not open"`
}

// StateCountsForm is the number of deliveries by state.
type StateCountsForm struct {
	Pending  int64 `json:"pending" xml:"pending"`
	Sent     int64 `json:"sent" xml:"sent"`
	Failed   int64 `json:"failed" xml:"failed"`
	TimedOut int64 `json:"timedOut" xml:"timedOut"`
	Canceled int64 `json:"canceled" xml:"canceled"`
}
