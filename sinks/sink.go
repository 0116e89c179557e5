package sinks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/settings"
)

// ErrUnavailable says that an index in Redis cannot be used now: it is out of reach, or being written back.
var ErrUnavailable = errors.New("the index is not in reach or being rebuilt")

// Sink takes notices. It is idempotent by notice id: what it took before gets the same receipt.
type Sink interface {
	// Deliver takes the deliveries of one lane (for the inbox: of one warehouse) in order. It answers
	// for all or for none. A *RefusedError names those that stand in the way of the others for good.
	Deliver(ctx context.Context, lane string, batch []delivery.Delivery) ([]delivery.Receipt, error)
}

// Pusher is a push channel: it hands notices to a system that is not ours. Package sinks/push calls it, under the
// strategies and limits of the sink.
type Pusher interface {
	// Push hands the deliveries over together (one, unless the sink is configured for batches) and answers for all of
	// them: nil once the other side has taken them. It is called from many goroutines and ends with ctx. A *RefusedError
	// names those that will never be taken; the others of the batch were not taken either. Every other error is
	// transient, a *LaterError says when to come back, and a *GoneError that there is no such thing any more. No error holds a secret.
	Push(ctx context.Context, batch []delivery.Delivery) error
}

// LaterError is a transient error of a channel that asks to be left alone for a while (Retry-After).
type LaterError struct {
	After time.Duration
	Err   error
}

// Error tells the cause and for how long.
func (e *LaterError) Error() string { return fmt.Sprintf("%v; again in %s", e.Err, e.After) }

// Unwrap returns the cause.
func (e *LaterError) Unwrap() error { return e.Err }

// GoneError is a transient error of a channel whose other side says that what it is told of does not exist any more (410). Who has made the
// deliveries may know what to do.
type GoneError struct{ Err error }

// Error is that of the cause.
func (e *GoneError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *GoneError) Unwrap() error { return e.Err }

// RefusedError is the answer of a sink that will never take some of the deliveries, however often it is asked. The
// caller ends those as failed and offers the others again; without it, one of them would hold up its lane for ever.
type RefusedError struct {
	Seqs []int64 // of the batch; at least one
	Err  error
}

// Error tells how many were refused and why.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d refused for good: %v", len(e.Seqs), e.Err)
}

// Unwrap returns why.
func (e *RefusedError) Unwrap() error { return e.Err }

// Refuse is the error of a delivery that will never be taken.
func Refuse(d *delivery.Delivery, err error) error {
	return &RefusedError{Seqs: []int64{d.Seq}, Err: err}
}

// Type declares a type of sink: its package has one, and a table in internal/app names it. Nothing else knows the types.
type Type struct {
	Name string
	New  func() Settings // with their defaults
}

// Kind is what becomes of the notices of a sink.
type Kind uint8

// The kinds.
const (
	InboxKind Kind = iota + 1 // they are kept for clients that poll; a site has one such sink
	QueueKind                 // they become items of work
	PushKind                  // they are handed to a system outside; the settings are ChannelSettings
)

// Settings are what a site has written about one sink: a pointer to a struct with the tags of strictyaml, which embeds a Header.
type Settings interface {
	TypeName() string
	Kind() Kind
	// SecretTexts are the texts that nobody may see, and the parts of them that other people's errors may repeat.
	SecretTexts() []string
}

// Referrer is settings that name another sink of the site.
type Referrer interface {
	// CheckSinks reports what is wrong with that, where nothing else is wrong with the settings at the section.
	CheckSinks(at settings.Section, site map[string]Settings)
}

// Header begins the settings of every sink.
type Header struct {
	Type string `yaml:"type" doc:"the type of the sink"`
}

// TypeName is the name of the sink's type.
func (h Header) TypeName() string { return h.Type }

// SecretTexts are none.
func (h Header) SecretTexts() []string { return nil }

// ChannelSettings are the settings of a push channel. Those of a struct that embeds PushSettings lack only Open.
type ChannelSettings interface {
	Settings
	// Limits are what every push channel has; the API shows them.
	Limits() *PushSettings
	// Batching says how many deliveries a call carries.
	Batching() Batch
	// IsEach tells whether each recipient gets a delivery of their own.
	IsEach() bool
	// NeedsAddress names what the address book must have of a recipient of IsEach; "" = nothing. Others get no delivery.
	NeedsAddress() string
	// Open makes the channel without connecting to anything. It tells what can never work.
	Open(Site) (Channel, error)
}

// Channel is a push channel that holds connections.
type Channel interface {
	Pusher
	Close()
}

// Site is what a push channel gets beside its settings.
type Site struct {
	Version string // of Tallyman, for the other side to see
	Book    delivery.Addresses
	Stdout  io.Writer
	Logger  *slog.Logger // names the sink
}

// PushSettings are what every push channel has: how much of it there may be at once, and when it is left alone.
type PushSettings struct {
	Header      `yaml:",inline"`
	Timeout     time.Duration `yaml:"timeout" min:"1s" max:"5m" doc:"how long a call may take"`
	Concurrency int           `yaml:"concurrency" min:"1" max:"256" doc:"how many calls run at a time, on each node"`
	Rate        settings.Rate `yaml:"rate" doc:"how many calls each node makes; none = no limit"`
	Breaker     Breaker       `yaml:"breaker" doc:"when calls stop for a while because the channel fails"`
}

// Breaker says when a push channel that fails is left alone.
type Breaker struct {
	Failures int           `yaml:"failures" min:"1" max:"1000" doc:"transient errors in a row that open the breaker"`
	Open     time.Duration `yaml:"open" min:"1s" max:"1h" doc:"how long the breaker stays open before one call is tried"`
}

// Batch says how many deliveries a call may carry.
type Batch struct {
	Max  int           `yaml:"max" min:"1" max:"1000" doc:"how many notices a call carries at most; 1 = each notice has its own call"`
	Wait time.Duration `yaml:"wait" max:"1m" doc:"how long the first notice of a call waits for others at most"`
}

// NewPushSettings are the defaults of a push channel of the type.
func NewPushSettings(typeName string) PushSettings {
	return PushSettings{Header: Header{Type: typeName}, Timeout: 10 * time.Second, Concurrency: 8, Breaker: Breaker{Failures: 5, Open: 30 * time.Second}}
}

// Kind is PushKind.
func (p *PushSettings) Kind() Kind { return PushKind }

// Limits implements ChannelSettings.
func (p *PushSettings) Limits() *PushSettings { return p }

// Batching says that each delivery goes alone.
func (p *PushSettings) Batching() Batch { return Batch{Max: 1} }

// IsEach says that all recipients share a delivery.
func (p *PushSettings) IsEach() bool { return false }

// NeedsAddress says that the address book is not asked.
func (p *PushSettings) NeedsAddress() string { return "" }

// Opened gives a channel that could not be made as none: a nil of its type would be one.
func Opened[C Channel](c C, err error) (Channel, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
