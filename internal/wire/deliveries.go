package wire

import (
	"encoding/xml"
	"time"
)

// DeliveryForm is a delivery as it stands.
type DeliveryForm struct {
	XMLName     xml.Name      `json:"-" xml:"delivery"`
	ID          int64         `json:"id" xml:"id" doc:"its number"`
	Sink        string        `json:"sink" xml:"sink"`
	State       string        `json:"state" xml:"state" enum:"pending,sent,failed,timed_out,canceled"`
	Flag        int           `json:"flag" xml:"flag" doc:"the state as a number: 0 pending, 1 sent, 2 failed, 3 timed out, 4 canceled"`
	Notice      string        `json:"notice" xml:"notice" doc:"its id"`
	Type        string        `json:"type" xml:"type"`
	Warehouse   string        `json:"warehouse" xml:"warehouse"`
	Rule        string        `json:"rule,omitempty" xml:"rule,omitempty" doc:"absent where a business system sent the notice"`
	Status      string        `json:"status" xml:"status" enum:"firing,resolved,event,sent" doc:"of the notice"`
	Title       string        `json:"title" xml:"title" doc:"of the notice"`
	Recipients  []string      `json:"recipients,omitempty" xml:"recipient,omitempty" doc:"whose it is; absent where the sink has no recipients" nullable:"false"`
	Strategy    *StrategyForm `json:"strategy,omitempty" xml:"strategy,omitempty" doc:"absent for the inbox and queues, which are tried until they have taken it"`
	Attempts    int           `json:"attempts" xml:"attempts"`
	LastError   string        `json:"lastError,omitempty" xml:"lastError,omitempty" doc:"of the last attempt that failed, or why it was canceled"`
	NextAttempt *time.Time    `json:"nextAttempt,omitempty" xml:"nextAttempt,omitempty" doc:"the earliest time of the next attempt; while a node has it, when another may take it up"`
	Deadline    *time.Time    `json:"deadline,omitempty" xml:"deadline,omitempty" doc:"timed: when it gives up"`
	Behind      bool          `json:"behind,omitempty" xml:"behind,omitempty" doc:"it waits for an earlier delivery of the same finding to the same sink"`
	InFront     int64         `json:"inFront,omitempty" xml:"inFront,omitempty" doc:"behind: the number of the one that goes first"`
	HeldBy      string        `json:"heldBy,omitempty" xml:"heldBy,omitempty" doc:"the silence that holds it back; it is looked at again at nextAttempt, or when somebody ends that"`
	Node        string        `json:"node,omitempty" xml:"node,omitempty" doc:"that has it in hand now"`
	CreatedAt   time.Time     `json:"createdAt" xml:"createdAt" doc:"of the notice"`
	ExpiresAt   *time.Time    `json:"expiresAt,omitempty" xml:"expiresAt,omitempty" doc:"of the notice; what is pending then is canceled, unless its strategy has until: sent"`
	SentAt      *time.Time    `json:"sentAt,omitempty" xml:"sentAt,omitempty"`
	// LastAttempts are in the answer about one delivery only.
	LastAttempts []AttemptForm `json:"lastAttempts,omitempty" xml:"lastAttempt,omitempty" doc:"the last 20, the latest first; absent in lists" nullable:"false"`
}

// AttemptForm is one attempt of a delivery.
type AttemptForm struct {
	At         time.Time `json:"at" xml:"at" doc:"when it began"`
	DurationMS int64     `json:"durationMs,omitempty" xml:"durationMs,omitempty" doc:"how long it took, rounded up; absent of a delivery that the inbox or a queue took at the first attempt"`
	Status     int       `json:"status,omitempty" xml:"status,omitempty" doc:"the code of the other side's answer, of HTTP or SMTP; absent where it gave none" example:"503"`
	Refused    bool      `json:"refused,omitempty" xml:"refused,omitempty" doc:"the other side will never take the delivery, however often it is tried"`
	Error      string    `json:"error,omitempty" xml:"error,omitempty" doc:"why it failed; absent where the other side took the delivery. An attempt that the node cut off because it stopped says so, and does not count"`
}

// StrategyForm is how a push channel is tried.
type StrategyForm struct {
	Kind   string     `json:"kind" xml:"kind" enum:"immediate,delayed,important,timed"`
	Delay  string     `json:"delay,omitempty" xml:"delay,omitempty" doc:"delayed: from the notice to the first attempt" example:"10m"`
	At     *time.Time `json:"at,omitempty" xml:"at,omitempty" doc:"delayed: the time of the first attempt, instead of a delay"`
	Within string     `json:"within,omitempty" xml:"within,omitempty" doc:"timed: how long it is tried"`
	Retry  int        `json:"retry,omitempty" xml:"retry,omitempty" doc:"delayed: attempts after the first"`
	Unless string     `json:"unless,omitempty" xml:"unless,omitempty" enum:"read,acked,resolved" doc:"delayed: what cancels it while it waits"`
	Until  string     `json:"until,omitempty" xml:"until,omitempty" enum:"sent" doc:"important: sent goes on after the notice has expired"`
}

// DeliveriesForm is a page of deliveries.
type DeliveriesForm struct {
	XMLName    xml.Name       `json:"-" xml:"deliveries"`
	Deliveries []DeliveryForm `json:"deliveries" xml:"delivery" doc:"the latest first" nullable:"false"`
	Cursor     string         `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
}

// DeliveryCausesForm is why deliveries were not sent, the most frequent cause first.
type DeliveryCausesForm struct {
	XMLName xml.Name            `json:"-" xml:"causes"`
	Causes  []DeliveryCauseForm `json:"causes" xml:"cause" nullable:"false"`
}

// DeliveryCauseForm is a group of deliveries of one sink that were not sent for one cause. GET /deliveries and POST /deliveries/retry take sink, state and
// cause as a filter.
type DeliveryCauseForm struct {
	Sink      string `json:"sink" xml:"sink"`
	State     string `json:"state" xml:"state" enum:"failed,timed_out"`
	Cause     string `json:"cause" xml:"cause" doc:"the status of the latest answer, timeout, unanswered, none (no attempt was made), or refused with the status behind a colon" example:"503"`
	Refused   bool   `json:"refused,omitempty" xml:"refused,omitempty" doc:"the other side will never take these deliveries, however often they are tried"`
	Count     int64  `json:"count" xml:"count" doc:"of the deliveries that were looked at: up to 10,000 of a sink and state"`
	Last      int64  `json:"last" xml:"last" doc:"the number of the latest"`
	LastError string `json:"lastError,omitempty" xml:"lastError,omitempty" doc:"of the latest"`
}

// DeliveryChoice says which deliveries are meant.
type DeliveryChoice struct {
	IDs    []int64             `json:"ids,omitempty" maxItems:"1000" minimum:"1" doc:"these" nullable:"false"`
	Filter *DeliveryFilterForm `json:"filter,omitempty" doc:"instead of ids: every one of which all this is true; it says something at least"`
}

// DeliveryFilterForm is what is true of the deliveries.
type DeliveryFilterForm struct {
	Sink      string   `json:"sink,omitempty"`
	State     []string `json:"state,omitempty" doc:"one of these" enum:"pending,sent,failed,timed_out,canceled" nullable:"false"`
	Held      bool     `json:"held,omitempty" doc:"it waits for more than its time: a silence holds it back, or an earlier one of its finding does"`
	Warehouse string   `json:"warehouse,omitempty" digits:"true" doc:"of the notice"`
	Type      string   `json:"type,omitempty" digits:"true" doc:"of the notice: its code or its id"`
	Rule      string   `json:"rule,omitempty" doc:"of the notice"`
	Notice    string   `json:"notice,omitempty" doc:"its id"`
	Cause     string   `json:"cause,omitempty" maxLength:"20" doc:"why it failed, as GET /deliveries/causes names it" example:"503"`
	After     string   `json:"after,omitempty" doc:"the cursor of the answer before: it goes on there"`
}

// CancelForm says why.
type CancelForm struct {
	Reason string `json:"reason,omitempty" maxLength:"200" doc:"shown as the delivery's last error" example:"the gateway had it by phone"`
}

// CancelManyForm says which deliveries are canceled, and why.
type CancelManyForm struct {
	DeliveryChoice
	CancelForm
}

// ChangedForm says what was changed.
type ChangedForm struct {
	XMLName xml.Name `json:"-" xml:"changed"`
	Changed int      `json:"changed" xml:"changed" doc:"deliveries; others stay as they are"`
	IDs     []int64  `json:"ids,omitempty" xml:"ids>id,omitempty" doc:"which of those that were named" nullable:"false"`
	Cursor  string   `json:"cursor,omitempty" xml:"cursor,omitempty" doc:"there are more: ask again with it as the filter's after"`
}

// SinksForm is every sink.
type SinksForm struct {
	XMLName xml.Name   `json:"-" xml:"sinks"`
	Sinks   []SinkForm `json:"sinks" xml:"sink" doc:"in the order of their names" nullable:"false"`
}

// SinkForm is a sink and how it does.
type SinkForm struct {
	XMLName    xml.Name          `json:"-" xml:"sink"`
	Name       string            `json:"name" xml:"name"`
	Type       string            `json:"type" xml:"type"`
	OK         bool              `json:"ok" xml:"ok" doc:"its last calls by the node that answers went well: it takes deliveries"`
	Error      string            `json:"error,omitempty" xml:"error,omitempty" doc:"why not"`
	Deliveries StateCountsForm   `json:"deliveries" xml:"deliveries" doc:"that the ledger keeps, by state; each is counted up to 10000, which stands for so many or more"`
	Oldest     *time.Time        `json:"oldest,omitempty" xml:"oldest,omitempty" doc:"since when its oldest pending delivery could have been delivered; absent where none waits. What a silence holds back, or a strategy puts off, does not wait"`
	OldestSecs float64           `json:"oldestSeconds,omitempty" xml:"oldestSeconds,omitempty" doc:"how long that is"`
	Failed     *time.Time        `json:"failedSince,omitempty" xml:"failedSince,omitempty" doc:"when the first of its failed deliveries failed"`
	Push       *PushStatusForm   `json:"push,omitempty" xml:"push,omitempty" doc:"of a push channel: how it does on the node that answers"`
	Settings   *PushSettingsForm `json:"settings,omitempty" xml:"settings,omitempty" doc:"of a push channel: what the configuration says"`
}

// PushSettingsForm is what the configuration says of a push channel.
type PushSettingsForm struct {
	Timeout     string `json:"timeout" xml:"timeout"`
	Concurrency int    `json:"concurrency" xml:"concurrency" doc:"calls at a time, on each node"`
	Rate        string `json:"rate" xml:"rate" doc:"calls on each node; none is no limit" example:"50/s"`
	Failures    int    `json:"failures" xml:"failures" doc:"that open the breaker"`
	Open        string `json:"open" xml:"open" doc:"how long the breaker stays open"`
	BatchMax    int    `json:"batchMax" xml:"batchMax" doc:"deliveries in a call"`
	BatchWait   string `json:"batchWait" xml:"batchWait" doc:"how long the first of a call waits for others, at most"`
}

// PushStatusForm is how a push channel does on the node that answers.
type PushStatusForm struct {
	Breaker     BreakerForm `json:"breaker" xml:"breaker"`
	HeldUntil   *time.Time  `json:"heldUntil,omitempty" xml:"heldUntil,omitempty" doc:"the other side has asked to be left alone until then (Retry-After)"`
	InFlight    int         `json:"inFlight" xml:"inFlight" doc:"deliveries that are being tried"`
	Waiting     int         `json:"waiting" xml:"waiting" doc:"deliveries that the node has in hand and tries next"`
	LastSent    *time.Time  `json:"lastSent,omitempty" xml:"lastSent,omitempty" doc:"when the last one succeeded, since the node started"`
	LastError   string      `json:"lastError,omitempty" xml:"lastError,omitempty"`
	LastErrorAt *time.Time  `json:"lastErrorAt,omitempty" xml:"lastErrorAt,omitempty"`
}

// BreakerForm is how a circuit breaker is.
type BreakerForm struct {
	State    string     `json:"state" xml:"state" enum:"closed,open,half_open" doc:"open: nothing is tried; half_open: one delivery is, and decides"`
	Since    time.Time  `json:"since" xml:"since"`
	Until    *time.Time `json:"until,omitempty" xml:"until,omitempty" doc:"open: when one delivery is tried"`
	Failures int        `json:"failures" xml:"failures" doc:"transient errors in a row, while it is not open"`
}

// StateCountsForm is how many deliveries are in each state.
type StateCountsForm struct {
	Pending  int64 `json:"pending" xml:"pending"`
	Sent     int64 `json:"sent" xml:"sent"`
	Failed   int64 `json:"failed" xml:"failed"`
	TimedOut int64 `json:"timedOut" xml:"timedOut"`
	Canceled int64 `json:"canceled" xml:"canceled"`
}
