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

// ErrUnavailable says that an index in Redis cannot be used now: it cannot be reached, or is being rebuilt.
var ErrUnavailable = errors.New("the index in Redis cannot be reached, or is being rebuilt")

// Sink takes notices. Sink is idempotent by notice id: a repeated notice gets the same receipt.
type Sink interface {
	// Deliver takes the deliveries of one lane (of one warehouse, for the inbox) in order. Deliver answers for all of
	// them or for none. A *RefusedError names deliveries that the sink will never take, and that would block the
	// others.
	Deliver(ctx context.Context, lane string, batch []delivery.Delivery) ([]delivery.Receipt, error)
}

// Pusher is a push channel: it sends notices to an outside system. Package sinks/push calls it, within the strategies
// and limits of the sink.
type Pusher interface {
	// Push sends the deliveries together (one, unless the sink is configured for batches), and answers for all of them:
	// nil once the other side has taken them. It is called from many goroutines, and must end with ctx.
	//
	// A *RefusedError names deliveries that will never be taken; the others of the batch were not taken either. Every
	// other error is transient. A *LaterError says when to try again. A *GoneError says that the object of the delivery
	// no longer exists. No error may contain a secret.
	Push(ctx context.Context, batch []delivery.Delivery) error
}

// LaterError is a transient error of a channel that asks for a pause (Retry-After).
type LaterError struct {
	After time.Duration
	Err   error
}

// Error returns the cause and the pause.
func (e *LaterError) Error() string {
	return fmt.Sprintf("%v; the other side asks for a pause of %s", e.Err, e.After)
}

// Unwrap returns the cause.
func (e *LaterError) Unwrap() error { return e.Err }

// GoneError is a transient error of a channel whose other side answers that the object of the delivery no longer exists
// (410). The part of the program that made the delivery may know what to do.
type GoneError struct{ Err error }

// Error returns the text of the cause.
func (e *GoneError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *GoneError) Unwrap() error { return e.Err }

// RefusedError is the answer of a sink that will never take some of the deliveries. The caller ends the refused
// deliveries as failed, and offers the others again. Otherwise a refused delivery would block its lane for ever.
type RefusedError struct {
	Seqs []int64 // the numbers of the refused deliveries; at least one
	Err  error
}

// Error returns how many deliveries were refused, and why.
func (e *RefusedError) Error() string {
	if len(e.Seqs) == 1 {
		return fmt.Sprintf("1 delivery refused, no further attempt: %v", e.Err)
	}
	return fmt.Sprintf("%d deliveries refused, no further attempt: %v", len(e.Seqs), e.Err)
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// Refuse returns the error of a delivery that will never be taken.
func Refuse(d *delivery.Delivery, err error) error {
	return &RefusedError{Seqs: []int64{d.Seq}, Err: err}
}

// Type declares a type of sink. The package of each type has one, and a table in internal/app lists it. Nothing else
// knows the types.
type Type struct {
	Name string
	New  func() Settings // returns settings with their defaults
}

// Kind is what happens to the notices of a sink.
type Kind uint8

// The kinds.
const (
	InboxKind Kind = iota + 1 // stored for clients that poll; a site has one such sink
	QueueKind                 // turned into items of work
	PushKind                  // sent to an outside system; the settings are ChannelSettings
)

// Settings are what a site has written about one sink: a pointer to a struct with the tags of strictyaml that embeds a
// Header.
type Settings interface {
	TypeName() string
	Kind() Kind
	// SecretTexts are texts that nobody may see, including parts of them that errors of other programs may repeat.
	SecretTexts() []string
}

// Referrer are settings that name another sink of the site.
type Referrer interface {
	// CheckSinks reports faults of that reference. CheckSinks is called only if the settings in the section have no
	// other faults.
	CheckSinks(at settings.Section, site map[string]Settings)
}

// Reachable are settings of a push channel whose other side is one server.
type Reachable interface {
	// Endpoint returns where the channel connects. It is called only for settings without faults.
	Endpoint() Endpoint
}

// Endpoint is a server of a push channel.
type Endpoint struct {
	Address    string // host:port
	TLS        bool   // The connection begins with TLS.
	ServerName string // The name in the server's certificate.
	CA         string // A file with authorities to trust in place of the system's. Empty means the system's.
	Cert, Key  string // Files with the client's certificate and its key. Empty means none.
}

// Header begins the settings of every sink.
type Header struct {
	Type string `yaml:"type" doc:"the type of the sink"`
}

// TypeName is the name of the sink's type.
func (h Header) TypeName() string { return h.Type }

// SecretTexts returns none.
func (h Header) SecretTexts() []string { return nil }

// ChannelSettings are the settings of a push channel. A struct that embeds PushSettings only needs to add Open.
type ChannelSettings interface {
	Settings
	// Limits returns the settings that every push channel has. The API shows them.
	Limits() *PushSettings
	// Batching returns how many deliveries a call carries.
	Batching() Batch
	// IsEach tells whether each recipient gets a delivery of their own.
	IsEach() bool
	// NeedsAddress returns the kind of address that the address book must have for a recipient if IsEach is true; ""
	// means none. Recipients without such an address get no delivery.
	NeedsAddress() string
	// Open returns the channel without connecting to anything. Open returns an error for settings that can never work.
	Open(Site) (Channel, error)
}

// Channel is a push channel that holds connections.
type Channel interface {
	Pusher
	Close()
}

// Site is what a push channel gets besides its settings.
type Site struct {
	Version string // of Tallyman; the other side may see it
	Book    delivery.Addresses
	Stdout  io.Writer
	Logger  *slog.Logger // has the name of the sink
}

// PushSettings are the settings that every push channel has: how many calls may run at once, and when calls pause.
type PushSettings struct {
	Header      `yaml:",inline"`
	Timeout     time.Duration `yaml:"timeout" min:"1s" max:"5m" doc:"how long a call may take"`
	Concurrency int           `yaml:"concurrency" min:"1" max:"256" doc:"how many calls run at a time, on each node"`
	Rate        settings.Rate `yaml:"rate" doc:"how many calls each node makes; none = no limit"`
	Breaker     Breaker       `yaml:"breaker" doc:"when calls stop for a while because the channel fails"`
}

// Breaker says when a failing push channel is paused.
type Breaker struct {
	Failures int           `yaml:"failures" min:"1" max:"1000" doc:"transient errors in a row that open the breaker"`
	Open     time.Duration `yaml:"open" min:"1s" max:"1h" doc:"how long the breaker stays open before one call is tried"`
}

// Batch says how many deliveries a call may carry.
type Batch struct {
	Max  int           `yaml:"max" min:"1" max:"1000" doc:"how many notices a call carries at most; 1 = each notice has its own call"`
	Wait time.Duration `yaml:"wait" max:"1m" doc:"how long the first notice of a call waits for others at most"`
}

// NewPushSettings returns the defaults of a push channel of this type.
func NewPushSettings(typeName string) PushSettings {
	return PushSettings{Header: Header{Type: typeName}, Timeout: 10 * time.Second, Concurrency: 8, Breaker: Breaker{Failures: 5, Open: 30 * time.Second}}
}

// Kind returns PushKind.
func (p *PushSettings) Kind() Kind { return PushKind }

// Limits implements ChannelSettings.
func (p *PushSettings) Limits() *PushSettings { return p }

// Batching returns the batch of one: each delivery goes alone.
func (p *PushSettings) Batching() Batch { return Batch{Max: 1} }

// IsEach returns false: all recipients share a delivery.
func (p *PushSettings) IsEach() bool { return false }

// NeedsAddress returns "": a recipient needs no entry in the address book.
func (p *PushSettings) NeedsAddress() string { return "" }

// Opened returns the channel as an interface. After an error, Opened returns a nil interface. A nil pointer of type C
// in an interface would not be equal to nil.
func Opened[C Channel](c C, err error) (Channel, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
