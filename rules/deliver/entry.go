package deliver

import (
	"strings"
	"time"

	"tallyman/rules/strictyaml"
)

// Strategy says how long a push channel is tried. The inbox and queues are tried until they have taken a notice.
type Strategy string

// The strategies.
const (
	Immediate Strategy = ""          // one attempt, at once; also what a file calls immediate
	Delayed   Strategy = "delayed"   // the first attempt later, then Retry more
	Important Strategy = "important" // until it succeeds
	Timed     Strategy = "timed"     // until Within has passed
)

// String is what a file calls it.
func (s Strategy) String() string {
	if s == Immediate {
		return immediate
	}
	return string(s)
}

const immediate = "immediate"

// StrategyOf is the strategy that a file calls so.
func StrategyOf(name string) Strategy { return Strategy(strings.TrimPrefix(name, immediate)) }

// Unless says what cancels a delivery that still waits. The empty Unless is nothing.
type Unless string

// What cancels.
const (
	UnlessRead     Unless = "read"
	UnlessAcked    Unless = "acked"
	UnlessResolved Unless = "resolved"
)

// Entry names a sink that gets the notices, and says how.
type Entry struct {
	Sink     string
	Strategy Strategy      `json:",omitempty"`
	Within   time.Duration `json:",omitempty"` // timed
	Delay    time.Duration `json:",omitempty"` // delayed, unless At gives a time
	At       string        `json:",omitempty"` // delayed, of rules: expr, a time; NULL is at once. "" = Delay counts
	Retry    int           `json:",omitempty"` // delayed: attempts after the first that failed for a while
	Unless   Unless        `json:",omitempty"` // delayed
	When     string        `json:",omitempty"` // of rules: expr; "" = every notice
}

// String says it as people do: "sms after 10m unless read, when qty < 0".
func (e *Entry) String() string { return e.Sink + e.How() }

// How is String without the sink.
func (e *Entry) How() string {
	var b strings.Builder
	switch {
	case e.At != "":
		b.WriteString(" at " + e.At)
	case e.Strategy == Delayed:
		b.WriteString(" after " + strictyaml.FormatDuration(e.Delay))
	case e.Strategy == Important:
		b.WriteString(" until it succeeds")
	case e.Strategy == Timed:
		b.WriteString(" for " + strictyaml.FormatDuration(e.Within))
	}
	if e.Unless != "" {
		b.WriteString(" unless " + string(e.Unless))
	}
	if e.When != "" {
		b.WriteString(", when " + e.When)
	}
	return b.String()
}

// Spec is how a file writes an entry that needs no row.
type Spec struct {
	Sink     string        `yaml:"sink,required" doc:"A name under sinks in the configuration."`
	Strategy string        `yaml:"strategy" enum:"immediate,delayed,important,timed" doc:"Of a push channel. immediate: one attempt. delayed: the first attempt after delay, or at a time. important: until it succeeds. timed: until within has passed."`
	Within   time.Duration `yaml:"within" min:"1s" max:"30d" doc:"timed: how long it is tried."`
	Delay    time.Duration `yaml:"delay" max:"366d" doc:"delayed: how long it waits before the first attempt."`
	Retry    int           `yaml:"retry" min:"0" max:"100" doc:"delayed: how often it is tried again after an attempt that failed for a while; by default not at all."`
	Unless   string        `yaml:"unless" enum:"read,acked,resolved" doc:"delayed: what cancels it before it has gone out. read: somebody has read the notice, or acked it. acked: somebody has acked it. resolved: the finding is over."`
}

// Entry is the entry that is written so.
func (s *Spec) Entry() Entry {
	return Entry{Sink: s.Sink, Strategy: StrategyOf(s.Strategy), Within: s.Within, Delay: s.Delay, Retry: s.Retry, Unless: Unless(s.Unless)}
}

// DecodeYAML implements strictyaml.Decodable: it takes a Spec.
func (e *Entry) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	var s Spec
	d.Value(name, n, &s)
	*e = s.Entry()
}

// The types of sinks that are tried until they have taken a notice, in order, whatever the strategy.
const (
	inboxSink = "inbox"
	queueSink = "queue"
)

// PushSink tells whether sinks of the type are push channels, to which strategies apply.
func PushSink(typ string) bool { return typ != inboxSink && typ != queueSink }
