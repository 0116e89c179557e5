package engine

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/internal/trace"
	"tallyman/rules"
	"tallyman/scanners"
	"tallyman/sinks"
)

// Options is what an engine is made of. Zero durations and counts have the defaults that their comments
// name; Ledger, Node, Session and the sources and sinks that the rules name are required.
type Options struct {
	Ledger  Ledger
	Sources map[string]scanners.Source
	Sinks   map[string]Sink
	Rules   []*rules.Rule
	// Complete tells that Rules has every rule that there is. Then findings of other rules and scopes, which were
	// removed, are closed and their notices resolved once every node has these rules. Leave it false while a rule file
	// is broken.
	Complete bool

	Silencer judge.Silencer // nothing is silenced

	Node     string // name of this node, which runs and logs show
	Session  Session
	Clock    Clock // SystemClock
	Terms    Terms // of the clock; one that never ends
	Logger   *slog.Logger
	Observer Observer      // NoObserver
	Tracer   *trace.Tracer // none

	Lease     time.Duration  // of claims and lanes, renewed after a third of it, for the case that nobody ends the session of a node that is gone; 30s
	Workers   int            // runs at a time; those of all sources, so that one that hangs leaves room for the others, and at least 8
	PerSource map[string]int // runs at a time on a source, by its name; 4 where it is not named
	PerSink   int            // lanes of one sink that are drained at a time; 8
	StopGrace time.Duration  // how long a stop waits for runs and deliveries before it gives them back; 10s
	Retention time.Duration  // finished deliveries and their notices are kept for so long; 90 days
	KeepRuns  int            // runs kept of each rule and scope; 100

	// ForgetAfter is how long all nodes have to have the same rules before the state of removed ones is closed; 30s.
	// Who moves a rule from one file to another may save the one long before the other, and a file that is being
	// written may look like one without rules.
	ForgetAfter time.Duration

	// Step is called between the steps of a firing, of a delivery and of a removal, so that a test can end the process
	// right there; see the Step constants.
	Step func(step string)
}

// Sink is a sink and how notices are addressed to it. The engine delivers to the inbox and to queues itself, lane by
// lane; to a push channel others do (package sinks/push), and it only wakes them.
type Sink struct {
	sinks.Sink // nil of a push channel

	Inbox bool // has recipients, looked up in the commit
	Push  bool // a push channel: its deliveries go by the rule's strategies
	Each  bool // of a push channel: a delivery for each recipient
	// Address names what the address book must have of a recipient of Each; "" = nothing.
	Address string
	Wake    func() // of a push channel: something was committed for it; must not block. nil = nobody is to be woken
}

// exists tells whether there is such a sink.
func (s *Sink) exists() bool { return s.Push || s.Sink != nil }

// channels says how notices are addressed to the sinks.
func (o *Options) channels() map[string]judge.Channel {
	list := make(map[string]judge.Channel, len(o.Sinks))
	for name, s := range o.Sinks {
		list[name] = judge.Channel{Inbox: s.Inbox, Push: s.Push, Each: s.Each, Address: s.Address}
	}
	return list
}

// The steps that Options.Step hears of, in the order of their coming.
const (
	StepClaimed    = "claimed"    // the firing is ours
	StepScanned    = "scanned"    // the probe has returned its last row
	StepJudged     = "judged"     // findings are decided and notices composed
	StepCommitting = "committing" // before the transaction
	StepCommitted  = "committed"  // after it
	StepDelivering = "delivering" // before a sink is called
	StepDelivered  = "delivered"  // the sink has answered
	StepMarked     = "marked"     // the ledger has recorded the answer

	StepForgetting = "forgetting" // before a portion of a removed rule is closed
	StepForgotten  = "forgotten"  // after it
)

var nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func (o *Options) withDefaults() Options {
	d := *o
	d.Lease = cmp.Or(d.Lease, 30*time.Second)
	if d.Workers == 0 {
		for name := range d.Sources {
			d.Workers += d.perSource(name)
		}
		d.Workers = max(d.Workers, 8)
	}
	d.PerSink = cmp.Or(d.PerSink, 8)
	d.StopGrace = cmp.Or(d.StopGrace, 10*time.Second)
	d.Retention = cmp.Or(d.Retention, 90*24*time.Hour)
	d.KeepRuns = cmp.Or(d.KeepRuns, 100)
	d.ForgetAfter = cmp.Or(d.ForgetAfter, 30*time.Second)
	if d.Clock == nil {
		d.Clock = SystemClock{}
	}
	if d.Terms == nil {
		d.Terms = oneTerm{}
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Observer == nil {
		d.Observer = NoObserver{}
	}
	if d.Silencer == nil {
		d.Silencer = &silence.Set{}
	}
	if d.Step == nil {
		d.Step = func(string) {}
	}
	return d
}

func (o *Options) perSource(name string) int { return cmp.Or(o.PerSource[name], 4) }

// validate reports everything that is wrong, joined.
func (o *Options) validate() error {
	var errs []error
	if o.Ledger == nil {
		errs = append(errs, errors.New("engine: no ledger"))
	}
	if o.Session == nil {
		errs = append(errs, errors.New("engine: no session"))
	}
	if !nodeName.MatchString(o.Node) {
		errs = append(errs, fmt.Errorf("engine: %q is no name for a node", o.Node))
	}
	if min(o.Lease, o.StopGrace, o.Retention) < 0 || min(o.Workers, o.PerSink, o.KeepRuns) < 0 {
		errs = append(errs, errors.New("engine: a duration or count is negative"))
	}
	for name, runs := range o.PerSource {
		if runs < 0 {
			errs = append(errs, fmt.Errorf("engine: source %q has room for %d runs", name, runs))
		}
	}
	return errors.Join(errs...)
}

// validateRules reports everything that is wrong with rules that are to run, joined.
func (o *Options) validateRules(list []*rules.Rule) error {
	var errs []error
	known := map[string]bool{}
	for _, r := range list {
		if id := ledger.ScopeKey(r.ID, r.Scope); known[id] {
			errs = append(errs, fmt.Errorf("engine: rule %s has scope %q twice", r.ID, r.Scope))
		} else {
			known[id] = true
		}
		if o.Sources[r.Source] == nil {
			errs = append(errs, fmt.Errorf("engine: rule %s: unknown source %q", r.ID, r.Source))
		}
		if _, ok := judge.Inbox(o.channels()); r.Shadow && !ok {
			errs = append(errs, fmt.Errorf("engine: rule %s is in shadow, but there is no inbox", r.ID))
		}
		for _, d := range r.Deliver {
			if sink := o.Sinks[d.Sink]; !sink.exists() {
				errs = append(errs, fmt.Errorf("engine: rule %s: unknown sink %q", r.ID, d.Sink))
			}
		}
	}
	return errors.Join(errs...)
}
