package inbox

import (
	"context"
	"log/slog"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/api/stream"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// Deps is what the room is made of.
type Deps struct {
	Inbox Inbox
	Reads ReadState
	Marks ledger.Marker
	// RuleCount is how the rules are that watch a warehouse, as it was some seconds ago at most: it is asked often.
	RuleCount func(ctx context.Context, warehouse string) wire.RuleCount
	Streams   *stream.Hub
	Meter     Meter
	Logger    *slog.Logger
}

// Inbox answers polls from the index. Its errors are those of package page. Version and Poll end within seconds, with
// page.ErrUnavailable at the latest.
type Inbox interface {
	// Version is what Poll would give as the page's version, for much less.
	Version(ctx context.Context, q page.Query) (string, error)
	Poll(ctx context.Context, q page.Query) (page.Page, error)
	// Wait returns nil as soon as the version is another one, and the context's error when that ends first.
	Wait(ctx context.Context, q page.Query, version string) error
	// Watch calls news whenever one of the subscribers may have something new, until stop is called. news returns at once.
	Watch(warehouse string, subscribers []string, news func()) (stop func())
}

// ReadState is the inbox as those see it who mark what they have read. Its errors are those of package page.
type ReadState interface {
	// Mark and ReadAll tell the reader's windows what the ledger has recorded. What they cannot tell, the inbox fetches itself.
	Mark(ctx context.Context, marks []delivery.Mark) error
	ReadAll(ctx context.Context, list []delivery.Watermark) error
	// UpTo is the score that a cursor stands for, never above the clock of the warehouse.
	UpTo(ctx context.Context, warehouse, cursor string) (int64, error)
	Summary(ctx context.Context, q page.Query) (page.Summary, error)
}

// The outcomes of a poll, as the Meter counts it.
const (
	PollNotices     = "notices"
	PollEmpty       = "empty"
	PollNotModified = "not_modified"
	PollRefused     = "refused"     // the request was wrong
	PollUnavailable = "unavailable" // the index is out of reach or being rebuilt
	PollFailed      = "failed"
	PollGone        = "gone" // the client left first
)

// Meter counts polls.
type Meter interface {
	// PollDone gives one of the Poll… constants.
	PollDone(outcome string, took time.Duration)
}

// Handlers serves inboxes.
type Handlers struct {
	deps    Deps
	log     *slog.Logger
	feeds   *feeds
	waiters *api.Waiters // set by Register
}

// New makes the room.
func New(deps Deps) *Handlers {
	return &Handlers{deps: deps, log: deps.Logger, feeds: newFeeds(deps.Streams, deps.Inbox, deps.Logger)}
}

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) {
	h.waiters = operations.Waiters
	h.registerMarks(operations)
	h.registerReadAll(operations)
	h.registerSummary(operations)
	doc := operations.OpenAPI()
	operations.Handle(pollOperation(doc), h.notices)
	operations.Handle(streamOperation(doc), h.stream)
	operations.Handle(legacyOperation(doc), h.legacy)
	operations.Handle(legacyPostOperation(doc), h.legacy)
}

// Live is the number of streams that have caught up.
func (h *Handlers) Live() int { return h.feeds.live() }
