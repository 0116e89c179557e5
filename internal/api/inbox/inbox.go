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

// Deps are the dependencies of the room.
type Deps struct {
	Inbox Inbox
	Reads ReadState
	Marks ledger.Marker
	// RuleCount returns the health of the rules that watch a warehouse. RuleCount is called often, so its answer may be
	// some seconds old.
	RuleCount func(ctx context.Context, warehouse string) wire.RuleCount
	Streams   *stream.Hub
	Meter     Meter
	Logger    *slog.Logger
}

// Inbox answers polls from the index in Redis. Its errors are the errors of package page. Version and Poll return
// within seconds; if Redis does not answer, they return page.ErrUnavailable.
type Inbox interface {
	// Version returns the version of the page that Poll would return. Version costs much less than Poll.
	Version(ctx context.Context, q page.Query) (string, error)
	Poll(ctx context.Context, q page.Query) (page.Page, error)
	// Wait returns nil as soon as the version has changed, or the context's error if the context ends first.
	Wait(ctx context.Context, q page.Query, version string) error
	// Watch calls news whenever one of the subscribers may have something new, until stop is called. news must not
	// block.
	Watch(warehouse string, subscribers []string, news func()) (stop func())
}

// ReadState copies marks to inboxes and summarizes inboxes. Its errors are the errors of package page.
type ReadState interface {
	// Mark and ReadAll copy marks from the ledger to Redis. If a copy fails, the inbox later reads the marks from the
	// ledger.
	Mark(ctx context.Context, marks []delivery.Mark) error
	ReadAll(ctx context.Context, list []delivery.Watermark) error
	// UpTo returns the score of a cursor. The score is never above the clock of the warehouse.
	UpTo(ctx context.Context, warehouse, cursor string) (int64, error)
	Summary(ctx context.Context, q page.Query) (page.Summary, error)
}

// The outcomes of a poll, for the Meter.
const (
	PollNotices     = "notices"
	PollEmpty       = "empty"
	PollNotModified = "not_modified"
	PollRefused     = "refused"     // The request was invalid.
	PollUnavailable = "unavailable" // The index cannot be reached or is being rebuilt.
	PollFailed      = "failed"
	PollGone        = "gone" // The client disconnected before the answer.
)

// Meter counts polls.
type Meter interface {
	// PollDone counts a poll. The outcome is one of the Poll… constants. took is the time without the wait for
	// something new.
	PollDone(outcome string, took time.Duration)
}

// Handlers serves inboxes.
type Handlers struct {
	deps    Deps
	log     *slog.Logger
	feeds   *feeds
	waiters *api.Waiters // Set by Register.
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

// Live returns the number of streams that have caught up.
func (h *Handlers) Live() int { return h.feeds.live() }
