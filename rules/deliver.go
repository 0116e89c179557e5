package rules

import (
	"strings"
	"time"

	"tallyman/rules/strictyaml"
)

// Strategy says how long a push channel is tried. The inbox and queues are tried until they have taken a notice.
type Strategy string

// The strategies.
const (
	StrategyImmediate Strategy = ""          // one attempt, at once; also what a file calls immediate
	StrategyDelayed   Strategy = "delayed"   // the first attempt later, then Retry more
	StrategyImportant Strategy = "important" // until it succeeds
	StrategyTimed     Strategy = "timed"     // until Within has passed
)

// String is what a file calls it.
func (s Strategy) String() string {
	if s == StrategyImmediate {
		return immediate
	}
	return string(s)
}

const immediate = "immediate"

// Unless says what cancels a delivery that still waits. The empty Unless is nothing.
type Unless string

// What cancels.
const (
	UnlessRead     Unless = "read"
	UnlessAcked    Unless = "acked"
	UnlessResolved Unless = "resolved"
)

// Deliver names a sink that gets the notices, and says how.
type Deliver struct {
	Sink     string
	Strategy Strategy      `json:",omitempty"`
	Within   time.Duration `json:",omitempty"` // timed
	Delay    time.Duration `json:",omitempty"` // delayed, unless At gives a time
	At       string        `json:",omitempty"` // delayed: expr, a time; NULL is at once. "" = Delay counts
	Retry    int           `json:",omitempty"` // delayed: attempts after the first that failed for a while
	Unless   Unless        `json:",omitempty"` // delayed
	When     string        `json:",omitempty"` // expr; "" = every notice
}

// String says it as people do: "sms after 10m unless read, when qty < 0".
func (d *Deliver) String() string { return d.Sink + d.How() }

// How is String without the sink.
func (d *Deliver) How() string {
	var b strings.Builder
	switch {
	case d.At != "":
		b.WriteString(" at " + d.At)
	case d.Strategy == StrategyDelayed:
		b.WriteString(" after " + strictyaml.FormatDuration(d.Delay))
	case d.Strategy == StrategyImportant:
		b.WriteString(" until it succeeds")
	case d.Strategy == StrategyTimed:
		b.WriteString(" for " + strictyaml.FormatDuration(d.Within))
	}
	if d.Unless != "" {
		b.WriteString(" unless " + string(d.Unless))
	}
	if d.When != "" {
		b.WriteString(", when " + d.When)
	}
	return b.String()
}

// The types of sinks that are tried until they have taken a notice, in order, whatever the strategy.
const (
	inboxSink = "inbox"
	queueSink = "queue"
)

// PushSink tells whether sinks of the type are push channels, to which strategies apply.
func PushSink(typ string) bool { return typ != inboxSink && typ != queueSink }

// Applied is an entry of a rule's deliver that applies to a notice.
type Applied struct {
	Entry int       // position in Rule.Deliver
	At    time.Time // what its `at` came to; zero = it has none, or at once
}

// everywhere are all entries, as they apply to what is not about a row.
func everywhere(r *Rule) []Applied {
	list := make([]Applied, len(r.Deliver))
	for i := range list {
		list[i].Entry = i
	}
	return list
}
