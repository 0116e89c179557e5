package queue

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"tallyman/internal/item"
	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
)

// TypeName is the name of the type.
const TypeName = "queue"

// Type is the type of sink that keeps items for workers.
var Type = sinks.Type{Name: TypeName, New: func() sinks.Settings { return NewSettings() }}

// The codes of the settings.
const (
	CodeTimezone = "bad_timezone"
	CodeDedupe   = "bad_dedupe"
	CodeEvents   = "bad_event_sink" // the sink of events cannot take them
)

// Settings are the settings of a sink of type queue. A field that the configuration does not set has its default.
type Settings struct {
	sinks.Header `yaml:",inline"`

	Timezone     Timezone        `yaml:"timezone" doc:"the time zone in which a day of dedupe begins"`
	Lease        time.Duration   `yaml:"lease" min:"1s" max:"24h" doc:"how long a worker holds an item, unless the worker asks for another lease"`
	MaxAttempts  Attempts        `yaml:"max_attempts" min:"1" doc:"failures after which an item is dead; none = an item is never dead"`
	Dedupe       Window          `yaml:"dedupe" doc:"how long an item holds its dedupe key: until_done, day, or a duration; with content before it, an item without a dedupe key gets one from its priority and payload"`
	OnRepeat     OnRepeat        `yaml:"on_repeat" enum:"update,keep" doc:"what a waiting item does when its finding is sent again: take the new text, data, priority and order, or keep its own"`
	SuspendSteps []time.Duration `yaml:"suspend_steps" min:"1s" max:"366d" doc:"how long the first, the second … suspend of an item lasts; [] = no item may be suspended"`
	Events       *Events         `yaml:"events" doc:"events of items that go to a push channel; by default none"`
}

// NewSettings returns the defaults.
func NewSettings() *Settings {
	return &Settings{
		Header: sinks.Header{Type: TypeName}, Timezone: Timezone{time.UTC}, Lease: DefaultLease, MaxAttempts: DefaultMaxAttempts,
		OnRepeat:     RepeatUpdates,
		SuspendSteps: []time.Duration{2 * time.Hour, 12 * time.Hour},
	}
}

// Notes implements strictyaml.Noter.
func (s *Settings) Notes() map[string]strictyaml.Note {
	return map[string]strictyaml.Note{"suspend_steps": {Takes: fmt.Sprintf("at most %d durations", mostSteps)}}
}

// Check implements strictyaml.Checker.
func (s *Settings) Check(at settings.Section) {
	if fault := tooManySteps(s.SuspendSteps); fault != "" {
		steps := at.In("suspend_steps")
		steps.Fail(settings.CodeOutOfRange, steps.String()+" "+fault, "")
	}
}

// mostSteps is the highest number of suspend steps. Each call of step.lua gets all steps, so the list must stay short.
const mostSteps = 100

func tooManySteps(steps []time.Duration) string {
	if len(steps) <= mostSteps {
		return ""
	}
	return fmt.Sprintf("has %d steps, at most %d are possible", len(steps), mostSteps)
}

// Kind returns sinks.QueueKind.
func (*Settings) Kind() sinks.Kind { return sinks.QueueKind }

// Options returns the options of one queue: those that all queues of a site share, completed by these settings.
func (s *Settings) Options(name string, shared Options) Options {
	o := shared
	o.Name, o.Timezone, o.Dedupe = name, s.Timezone.Location, s.Dedupe
	o.OnRepeat = s.OnRepeat
	o.Events = s.Events.Told()
	o.Settings = item.Settings{Lease: s.Lease, MaxAttempts: int(s.MaxAttempts), SuspendSteps: slices.Clone(s.SuspendSteps)}
	return o
}

// Attempts is a number of failures. item.NoLimit is written as "none".
type Attempts int

const noLimit = "none"

// String returns the number as the configuration has it.
func (a Attempts) String() string {
	if a == item.NoLimit {
		return noLimit
	}
	return strconv.Itoa(int(a))
}

const attemptsForm = "a number from 1 on, or " + noLimit

// Takes says what a number of failures may be.
func (a Attempts) Takes() string { return attemptsForm }

// DecodeYAML reads a number or none.
func (a *Attempts) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind == strictyaml.Scalar && n.Text == noLimit {
		*a = item.NoLimit
		return
	}
	number := int(*a)
	if found := d.Attempt(func() { d.Bounded(name, n, &number, boundsOf("MaxAttempts")) }); len(found) > 0 {
		for i := range found {
			found[i].Hint = cmp.Or(found[i].Hint, attemptsForm)
		}
		d.Add(n, found)
		return
	}
	*a = Attempts(number)
}

// boundsOf returns the tag of a field of Settings, which has the bounds of the setting.
func boundsOf(field string) reflect.StructTag {
	f, _ := reflect.TypeFor[Settings]().FieldByName(field)
	return f.Tag
}

// Timezone is a time zone of the configuration.
type Timezone struct{ *time.Location }

const zoneForm = "an IANA name such as Europe/Berlin or UTC"

// Takes says what a time zone may be.
func (t Timezone) Takes() string { return zoneForm }

// DecodeYAML reads an IANA name. Local is refused: it differs from node to node.
func (t *Timezone) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	zone, ok := d.Text(name, n)
	if !ok {
		return
	}
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "" || strings.EqualFold(zone, "local") {
		d.Fail(n, CodeTimezone, fmt.Sprintf("%s: unknown timezone %q", name, zone), zoneForm)
		return
	}
	t.Location = location
}

// The windows that are written as words, not as durations.
const (
	windowUntilDone = "until_done"
	windowDay       = "day"
	windowContent   = "content" // alone, or before another window
)

// String returns the window as the configuration has it.
func (w Window) String() string {
	if w.Content {
		rest := w
		rest.Content = false
		return strings.TrimSuffix(windowContent+" "+rest.String(), " "+windowUntilDone)
	}
	switch {
	case w.Day:
		return windowDay
	case w.For > 0:
		return strictyaml.FormatDuration(w.For)
	default:
		return windowUntilDone
	}
}

// Takes says what a window may be.
func (w Window) Takes() string {
	return windowForm + "; a duration of " + strictyaml.FormatDuration(leastWindow) + " to " + strictyaml.FormatDuration(mostWindow)
}

const windowForm = "until_done, day, or a duration, also behind content"

// DecodeYAML reads a window.
func (w *Window) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Setting(name, n, windowForm)
	if !ok {
		return
	}
	window, err := parseWindow(s)
	if err != nil {
		hint := err.Error()
		if d.IsResolved(n) {
			hint = windowHint("", nil)
		}
		d.Fail(n, CodeDedupe, fmt.Sprintf("%s cannot be %q", name, s), hint)
		return
	}
	*w = window
}

// parseWindow reads what String has written. The text of the error is a hint: it says what may be written.
func parseWindow(text string) (Window, error) {
	span, isContent := text, text == windowContent
	if rest, found := strings.CutPrefix(text, windowContent+" "); found {
		span, isContent = rest, true
	}
	window := Window{Content: isContent}
	switch {
	case span == windowUntilDone, text == windowContent:
	case span == windowDay:
		window.Day = true
	default:
		var err error
		window.For, err = strictyaml.ParseDuration(span)
		if err == nil && (window.For < leastWindow || window.For > mostWindow) {
			err = errors.New("a duration between 1s and 366d")
		}
		if err != nil {
			return Window{}, errors.New(windowHint(span, err))
		}
	}
	return window, nil
}

// The bounds of a window that is written as a duration.
const (
	leastWindow = time.Second
	mostWindow  = 366 * 24 * time.Hour
)

// windowHint explains the fault of a duration if the text looks like one. Otherwise it lists what may be written.
func windowHint(s string, err error) string {
	if s != "" && strings.ContainsAny(s[:1], "-0123456789") {
		return err.Error()
	}
	return "until_done, day, or a duration such as 4h; content before it, or alone, makes keys from priority and payload"
}

// Window is how long an item holds its dedupe key. The zero value means until the item has ended. A dead item has not
// ended.
type Window struct {
	Day bool          // until the end of the day, in the queue's timezone, in which the item was created
	For time.Duration // this long from the item's creation, even if the item ends earlier
	// Content gives an item without a dedupe key a key that is made of the item's priority and payload.
	Content bool
}

// contentKey makes a dedupe key of an item's priority and payload. The order of members and white space do not matter.
// Numbers are compared as they are written, because two large numbers may be equal as floats.
func contentKey(priority int, payload []byte) string {
	canonical := jsontext.Value(bytes.Clone(payload))
	if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		canonical = payload // newRecords has checked the payload, so this does not happen
	}
	sum := sha256.Sum256(canonical)
	return "content " + strconv.Itoa(priority) + " " + base64.RawURLEncoding.EncodeToString(sum[:])
}

// bucket returns the name under which Redis and the ledger keep a dedupe key, and when the window of the key ends. A
// zero time means until the item has ended.
//
// The name contains the window and the warehouse, so items of different windows or warehouses never collide. The name
// of a day's window contains the day. So an item that was created before midnight and arrives after midnight counts for
// the day of its creation. The key is hashed to keep the name short.
func (w Window) bucket(warehouse, key string, created time.Time, zone *time.Location) (name string, until time.Time) {
	if warehouse != "" {
		key = warehouse + "\x00" + key
	}
	sum := sha256.Sum256([]byte(key))
	hash := base64.RawURLEncoding.EncodeToString(sum[:16])
	switch {
	case w.Day:
		day := created.In(zone)
		year, month, date := day.Date()
		return "d" + day.Format("20060102") + ":" + hash, time.Date(year, month, date+1, 0, 0, 0, 0, zone)
	case w.For > 0:
		return "w:" + hash, created.Add(w.For)
	default:
		return "u:" + hash, time.Time{}
	}
}
