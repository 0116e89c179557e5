package deliver

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"tallyman/rules/strictyaml"
)

// Strategy says when and how long Tallyman tries to deliver to a push channel. Deliveries to the inbox and to queues
// are retried until the sink has taken the notice.
type Strategy string

// The strategies.
const (
	Immediate Strategy = ""          // one attempt, at once; a file may also write immediate
	Delayed   Strategy = "delayed"   // the first attempt after Delay or at At, then up to Retry more
	Important Strategy = "important" // attempts until one succeeds, or until the notice expires; see Until
	Timed     Strategy = "timed"     // attempts until one succeeds, or until Within has passed
)

// String returns the name that a file uses.
func (s Strategy) String() string {
	if s == Immediate {
		return immediate
	}
	return string(s)
}

const immediate = "immediate"

// StrategyOf returns the strategy for the name that a file uses.
func StrategyOf(name string) Strategy { return Strategy(strings.TrimPrefix(name, immediate)) }

// Unless says what cancels a delivery that still waits. The empty Unless means that nothing cancels the delivery.
type Unless string

// The values of Unless.
const (
	UnlessRead     Unless = "read"
	UnlessAcked    Unless = "acked"
	UnlessResolved Unless = "resolved"
)

// Until says how long an important delivery is tried. The empty Until means that the attempts end when the notice
// expires.
type Until string

// UntilSent means that the attempts go on after the notice has expired.
const UntilSent Until = "sent"

// Entry names a sink that gets the notices, and says how.
type Entry struct {
	Sink     string
	Strategy Strategy
	Within   time.Duration // For timed.
	Delay    time.Duration // For delayed, where At gives no time.
	At       string        // For delayed, in rules only: an expression for the time of the first attempt.
	Retry    int           // For delayed: how many attempts may follow the first, after transient errors.
	Unless   Unless        // For delayed.
	Until    Until         // For important.
	When     string        // In rules only: a condition. Empty means every notice.
}

// String describes the entry in words: "sms after 10m unless read, when qty < 0".
func (e *Entry) String() string { return e.Sink + e.How() }

// How returns String without the sink.
func (e *Entry) How() string {
	var b strings.Builder
	switch {
	case e.At != "":
		b.WriteString(" at " + e.At)
	case e.Strategy == Delayed:
		b.WriteString(" after " + strictyaml.FormatDuration(e.Delay))
	case e.Strategy == Important:
		b.WriteString(" until it succeeds")
		if e.Until == UntilSent {
			b.WriteString(", even after the notice has expired")
		}
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

// entryJSON is the form of an Entry in JSON: durations are texts such as "10m".
type entryJSON struct {
	Sink     string   `json:"sink"`
	Strategy Strategy `json:"strategy,omitempty"`
	Within   string   `json:"within,omitempty"`
	Delay    string   `json:"delay,omitempty"`
	At       string   `json:"at,omitempty"`
	Retry    int      `json:"retry,omitempty"`
	Unless   Unless   `json:"unless,omitempty"`
	Until    Until    `json:"until,omitempty"`
	When     string   `json:"when,omitempty"`
}

// MarshalJSON writes durations as texts.
func (e *Entry) MarshalJSON() ([]byte, error) {
	j := entryJSON{Sink: e.Sink, Strategy: e.Strategy, At: e.At, Retry: e.Retry, Unless: e.Unless, Until: e.Until, When: e.When}
	if e.Within != 0 {
		j.Within = strictyaml.FormatDuration(e.Within)
	}
	if e.Delay != 0 {
		j.Delay = strictyaml.FormatDuration(e.Delay)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Entry) UnmarshalJSON(text []byte) error {
	var j entryJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*e = Entry{Sink: j.Sink, Strategy: StrategyOf(string(j.Strategy)), At: j.At, Retry: j.Retry, Unless: j.Unless, Until: j.Until, When: j.When}
	var withinErr, delayErr error
	e.Within, withinErr = span(j.Within)
	e.Delay, delayErr = span(j.Delay)
	return cmp.Or(withinErr, delayErr)
}

// span reads a duration. The empty text is 0.
func span(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return strictyaml.ParseDuration(text)
}

// Spec is the written form of an entry without expressions. Types use it; rules add at and when.
type Spec struct {
	Sink     string        `yaml:"sink,required" doc:"The sink: a name under sinks in the configuration."`
	Strategy string        `yaml:"strategy" enum:"immediate,delayed,important,timed" doc:"How often and how long a push channel is tried. immediate: one attempt. delayed: the first attempt after delay, or at a time. important: attempts until one succeeds or the notice expires. timed: attempts until within has passed."`
	Within   time.Duration `yaml:"within" min:"1s" max:"30d" doc:"timed: how long attempts go on."`
	Delay    time.Duration `yaml:"delay" max:"366d" doc:"delayed: how long the delivery waits before the first attempt."`
	Retry    int           `yaml:"retry" min:"0" max:"100" doc:"delayed: how many attempts follow the first, if attempts fail with a transient error. By default none."`
	Unless   string        `yaml:"unless" enum:"read,acked,resolved" doc:"delayed: what cancels the delivery while it waits. read: a recipient has read or acked the notice. acked: a recipient has acked the notice. resolved: the finding is over."`
	Until    string        `yaml:"until" enum:"sent" doc:"important: with sent, attempts go on after the notice has expired, until the channel takes the notice or an operator cancels the delivery. Without until, the delivery ends when the notice expires."`
}

// Entry returns the entry that the spec describes.
func (s *Spec) Entry() Entry {
	return Entry{Sink: s.Sink, Strategy: StrategyOf(s.Strategy), Within: s.Within, Delay: s.Delay, Retry: s.Retry, Unless: Unless(s.Unless), Until: Until(s.Until)}
}

// DecodeYAML implements strictyaml.Decodable. It takes a Spec.
func (e *Entry) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	var s Spec
	d.Value(name, n, &s)
	*e = s.Entry()
}

// The types of sinks without strategies: deliveries go in order, and are retried until the sink has taken the notice.
const (
	inboxSink = "inbox"
	queueSink = "queue"
)

// PushSink tells whether sinks of the type are push channels. Strategies apply to push channels only.
func PushSink(typ string) bool { return typ != inboxSink && typ != queueSink }
