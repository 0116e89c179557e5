package push

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/trace"
	"tallyman/sinks"
	"tallyman/sinks/scrub"
)

// Ledger is what a runner needs of the ledger.
type Ledger interface{ delivery.Pushes }

// Observer is told how deliveries ended, for metrics. It must not block.
type Observer interface {
	// DeliveryDone is called after n deliveries were recorded; outcome is one of those below.
	DeliveryDone(sink, outcome string, n int)
	// DeliveryTook is called for each delivery that the channel has taken, with the time since its notice was made; not of those that were put off.
	DeliveryTook(sink string, d time.Duration)
}

// The outcomes of DeliveryDone.
const (
	OutcomeSent     = "sent"
	OutcomeFailed   = "failed"    // never to be taken, or no attempt is left; it has ended
	OutcomeRetried  = "retried"   // not taken; it is tried again
	OutcomeTimedOut = "timed_out" // its time has passed
	OutcomeCanceled = "canceled"  // its notice has expired
)

// Batch says how many deliveries go out in one call. The zero value is one.
type Batch struct {
	Max  int           // deliveries in a call
	Wait time.Duration // how long the first of a batch waits for others, at most
}

// Breaker says when a sink that fails is left alone.
type Breaker struct {
	Failures int           // transient errors in a row that open it; 5
	Open     time.Duration // how long it stays open before one delivery is tried; 30s
}

// Options is what a runner is made of. Zero values have the defaults that their comments name.
type Options struct {
	Sink    string           // its name in the configuration; needed
	Session delivery.Session // needed
	Ledger  Ledger           // needed
	Pusher  sinks.Pusher     // needed

	Timeout     time.Duration // of a call; 10s
	Concurrency int           // calls at a time; 8
	Rate        rate.Limit    // calls a second on this node; 0 = no limit
	Burst       int           // calls that may come at once when the sink was idle; a tenth of a second's, at least 1
	Breaker     Breaker
	Batch       Batch
	StopGrace   time.Duration // how long a stop waits for calls; 10s

	// Silenced names the silence that holds a notice back and for how much longer it does; "" = none does. It must not block. None by default.
	Silenced func(n *notice.Notice) (id string, left time.Duration)

	Scrubber *scrub.Scrubber // takes the secrets out of errors; none
	Observer Observer        // none
	Logger   *slog.Logger    // none
	Tracer   *trace.Tracer   // none

	// Step is called between the steps of a delivery, so that a test can end the process right there.
	Step func(step string)
}

// The steps that Options.Step hears of, in the order of their coming.
const (
	StepClaimed  = "push_claimed"  // the ledger has given deliveries to this node
	StepTrying   = "push_trying"   // before the channel is called
	StepAnswered = "push_answered" // it has answered
	StepSettling = "push_settling" // before the answers are recorded
	StepSettled  = "push_settled"  // they are
)

// The bounds of the durations that a site sets.
const (
	MaxTimeout = 5 * time.Minute
	MaxWait    = time.Minute
)

const (
	leaseSlack    = 30 * time.Second // see Options.lease
	ledgerTimeout = 10 * time.Second // for an answer of the ledger
)

func (o *Options) withDefaults() (Options, error) {
	d := *o
	if d.Sink == "" || d.Session == nil || d.Ledger == nil || d.Pusher == nil {
		return d, errors.New("delivery: Sink, Session, Ledger and Pusher are needed")
	}
	d.Timeout = cmp.Or(d.Timeout, 10*time.Second)
	d.Concurrency = cmp.Or(d.Concurrency, 8)
	d.Breaker.Failures = cmp.Or(d.Breaker.Failures, 5)
	d.Breaker.Open = cmp.Or(d.Breaker.Open, 30*time.Second)
	d.Batch.Max = cmp.Or(d.Batch.Max, 1)
	d.StopGrace = cmp.Or(d.StopGrace, 10*time.Second)
	if d.Rate == 0 {
		d.Rate = rate.Inf
	}
	if d.Burst == 0 && d.Rate != rate.Inf {
		d.Burst = max(1, int(min(float64(d.Rate)/10, 1e6)))
	}
	if d.Silenced == nil {
		d.Silenced = func(*notice.Notice) (string, time.Duration) { return "", 0 }
	}
	if d.Scrubber == nil {
		d.Scrubber = scrub.New()
	}
	if d.Observer == nil {
		d.Observer = noObserver{}
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Step == nil {
		d.Step = func(string) {}
	}
	return d, d.validate()
}

func (o *Options) validate() error {
	switch {
	case o.Timeout < 0 || o.Timeout > MaxTimeout || o.Batch.Wait < 0 || o.Batch.Wait > MaxWait:
		return fmt.Errorf("delivery to %s: the timeout is at most %s, and a batch waits at most %s", o.Sink, MaxTimeout, MaxWait)
	case o.Concurrency < 0 || o.Batch.Max < 0 || o.Breaker.Failures < 0 || o.Breaker.Open < 0 || o.StopGrace < 0 || o.Rate < 0 || o.Burst < 0:
		return fmt.Errorf("delivery to %s: a limit is negative", o.Sink)
	default:
		return nil
	}
}

// lease is how long a delivery is claimed: it waits for others of its batch, is tried once or, where a batch was refused, twice,
// and the answer is recorded.
func (o *Options) lease() time.Duration { return 2*o.Timeout + o.Batch.Wait + leaseSlack }

// noObserver observes nothing.
type noObserver struct{}

func (noObserver) DeliveryDone(string, string, int) {}

func (noObserver) DeliveryTook(string, time.Duration) {}
