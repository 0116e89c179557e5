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

// Options configures an engine. A zero duration or count means the default that its comment names. Ledger, Node,
// Session, and the sources and sinks that the rules name are required.
type Options struct {
	Ledger  Ledger
	Sources map[string]scanners.Source
	Sinks   map[string]Sink
	Rules   []*rules.Rule
	// Complete tells that Rules has every rule that exists. Then other rules and scopes count as removed: once every
	// node has these rules, the engine closes their findings and resolves their notices. Leave Complete false while a
	// rule file is broken.
	Complete bool

	Silencer judge.Silencer // Default: nothing is silenced.

	Node     string // The name of this node, which runs and logs show.
	Session  Session
	Clock    Clock         // Default: SystemClock.
	Terms    Terms         // The clock terms. Default: one term that never ends.
	Logger   *slog.Logger  // Default: no log.
	Observer Observer      // Default: NoObserver.
	Tracer   *trace.Tracer // Default: no traces.

	// Lease is the length of the leases of claims and lanes. The node renews a lease after a third of it. Leases matter
	// only when no other node ends the session of a dead node. Default: 30s.
	Lease time.Duration
	// Workers is the number of runs at a time. Default: the sum over all sources, so that a source that hangs leaves
	// room for the others, and at least 8.
	Workers   int
	PerSource map[string]int // Runs at a time on each source, keyed by source. Default: 4.
	PerSink   int            // Lanes of one sink that are drained at a time. Default: 8.
	StopGrace time.Duration  // How long a stop waits for runs and deliveries before it gives them back. Default: 10s.
	Retention time.Duration  // How long finished deliveries and their notices are kept. Default: 90 days.
	KeepRuns  int            // Runs kept of each rule and scope. Default: 100.

	// ForgetAfter is how long all nodes must have the same rules before the state of removed rules is closed.
	// Default: 30s. An author who moves a rule between files may save one file long before the other. A half-written
	// file may look like a file without rules.
	ForgetAfter time.Duration

	// Step is called between the steps of a firing, of a delivery and of a removal; see the Step constants. A test can
	// end the process there.
	Step func(step string)

	// Turned is called with the name of a loop of the engine at each of its turns, once a minute at least. If no call
	// comes for longer, the loop is stuck.
	Turned func(loop string)
}

// Sink is a sink and how notices are addressed to it. The engine itself delivers to the inbox and to queues, lane by
// lane. Package sinks/push delivers to push channels; the engine only wakes it.
type Sink struct {
	sinks.Sink // Nil for a push channel.

	Inbox bool // The sink is the inbox: it has recipients, which the commit looks up.
	Push  bool // The sink is a push channel: its deliveries follow the rule's strategies.
	Each  bool // The push channel gets a delivery for each recipient.
	// Address names the entry that a recipient of an Each channel must have in the address book. Empty means none.
	Address string
	// Wake tells a push channel that a commit has deliveries for it. Wake must not block. Nil means no call.
	Wake func()
}

// exists tells whether the sink is configured. The zero Sink is not.
func (s *Sink) exists() bool { return s.Push || s.Sink != nil }

// channels returns how notices are addressed to each sink, keyed by sink.
func (o *Options) channels() map[string]judge.Channel {
	list := make(map[string]judge.Channel, len(o.Sinks))
	for name, s := range o.Sinks {
		list[name] = judge.Channel{Inbox: s.Inbox, Push: s.Push, Each: s.Each, Address: s.Address}
	}
	return list
}

// The steps that Options.Step is called with, in the order in which they happen.
const (
	StepClaimed    = "claimed"    // This node has claimed the firing.
	StepScanned    = "scanned"    // The probe has returned its last row.
	StepJudged     = "judged"     // Findings are decided and notices are composed.
	StepCommitting = "committing" // Before the transaction.
	StepCommitted  = "committed"  // After the transaction.
	StepDelivering = "delivering" // Before the sink is called.
	StepDelivered  = "delivered"  // The sink has taken the deliveries.
	StepMarked     = "marked"     // The ledger has recorded the answer.

	StepForgetting = "forgetting" // Before a portion of a removed rule is closed.
	StepForgotten  = "forgotten"  // After a portion of a removed rule was closed.
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
	if d.Turned == nil {
		d.Turned = func(string) {}
	}
	return d
}

func (o *Options) perSource(name string) int { return cmp.Or(o.PerSource[name], 4) }

// validate returns all problems of the options, joined. It does not check the rules.
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
	if min(o.Lease, o.StopGrace, o.Retention, o.ForgetAfter) < 0 || min(o.Workers, o.PerSink, o.KeepRuns) < 0 {
		errs = append(errs, errors.New("engine: a duration or count is negative"))
	}
	for name, runs := range o.PerSource {
		if runs < 0 {
			errs = append(errs, fmt.Errorf("engine: source %q has room for %d runs", name, runs))
		}
	}
	return errors.Join(errs...)
}

// validateRules returns every problem of the rules that the engine would run, joined.
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
