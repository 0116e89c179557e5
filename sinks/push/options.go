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

// Observer receives the results of deliveries, for metrics. Observer must not block.
type Observer interface {
	// DeliveryDone is called after the results of n deliveries were recorded. outcome is one of the Outcome constants.
	DeliveryDone(sink, outcome string, n int)
	// DeliveryTook is called for each delivery that the channel has taken, except delayed ones, with the time since its
	// notice was created.
	DeliveryTook(sink string, d time.Duration)
}

// The outcomes of DeliveryDone.
const (
	OutcomeSent     = "sent"
	OutcomeFailed   = "failed"    // refused, or no attempt is left; the delivery has ended
	OutcomeRetried  = "retried"   // not taken; it is tried again
	OutcomeTimedOut = "timed_out" // its deadline has passed
	OutcomeCanceled = "canceled"  // its notice has expired
)

// Batch says how many deliveries go out in one call. The zero value means one.
type Batch struct {
	Max  int           // deliveries in a call
	Wait time.Duration // how long the first of a batch waits for others, at most
}

// Breaker says when a failing sink is paused.
type Breaker struct {
	Failures int           // consecutive transient errors that open the breaker; 5
	Open     time.Duration // how long it stays open before one delivery is tried; 30s
}

// Options configures a runner. The default of a zero value is at the end of each comment.
type Options struct {
	Sink    string           // the sink's name in the configuration; needed
	Session delivery.Session // needed
	Ledger  Ledger           // needed
	Pusher  sinks.Pusher     // needed

	Timeout     time.Duration // of a call; 10s
	Concurrency int           // calls at a time; 8
	Rate        rate.Limit    // calls per second on this node; 0 = no limit
	Burst       int           // calls that may come at once after a pause; a tenth of Rate, at least 1
	Breaker     Breaker
	Batch       Batch
	StopGrace   time.Duration // how long a stop waits for calls; 10s

	// Silenced returns the id of the silence that holds a notice back, and how much longer it lasts. "" means that there
	// is none. It must not block. None by default.
	Silenced func(n *notice.Notice) (id string, left time.Duration)

	Scrubber *scrub.Scrubber // removes secrets from errors; none
	Observer Observer        // none
	Logger   *slog.Logger    // none
	Tracer   *trace.Tracer   // none

	// Step is called between the steps of a delivery, so that a test can stop the process at that point.
	Step func(step string)
}

// The steps of Options.Step, in order.
const (
	StepClaimed  = "push_claimed"  // the ledger has given deliveries to this node
	StepTrying   = "push_trying"   // before the channel is called
	StepAnswered = "push_answered" // the channel has answered
	StepSettling = "push_settling" // before the answers are recorded
	StepSettled  = "push_settled"  // the answers are recorded
)

// The bounds of durations in the settings.
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

// lease returns how long a delivery is claimed. In that time the delivery waits for others of its batch and is tried
// once, or twice if a batch was refused. The rest of the time is for recording the answer.
func (o *Options) lease() time.Duration { return 2*o.Timeout + o.Batch.Wait + leaseSlack }

// noObserver observes nothing.
type noObserver struct{}

func (noObserver) DeliveryDone(string, string, int) {}

func (noObserver) DeliveryTook(string, time.Duration) {}
