package send

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/trace"
	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
)

// Deps are the dependencies of the room.
type Deps struct {
	Sends  Sends
	Types  func(ctx context.Context) (catalog.Catalog, error)
	Sinks  deliver.Sinks // The sinks that a draft of a type may name.
	Meter  Meter
	Tracer *trace.Tracer // nil = no traces.
	Logger *slog.Logger
}

// Meter counts sent notices.
type Meter interface {
	NoticeMade(noticeType, status string)
}

// Handlers serves this room.
type Handlers struct {
	deps Deps
	log  *slog.Logger
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps, deps.Logger} }

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) {
	h.registerSend(operations)
	h.registerPreview(operations)
}

// Sends writes and delivers the notices of business systems.
type Sends struct {
	// Send writes notices with their deliveries; see ledger.Sends.
	Send func(ctx context.Context, notices []ledger.NewNotice) (ledger.SentNotices, error)
	// Sent returns the notices that an earlier request has sent; see ledger.Sends.
	Sent func(ctx context.Context, notices []ledger.NewNotice) (ledger.SentNotices, error)
	// Wake tells the loops of these lanes, and the runners of push channels, that the lanes have new deliveries.
	Wake func(lanes []ledger.Lane)
	// Targets are the sinks by name.
	Targets map[string]TargetKind
	// Addresses are the kinds of addresses that sinks of kind TargetEach take from the address book, by the name of the
	// sink.
	Addresses map[string]string
	// Now returns the time by the clock of the rules; nil = time.Now.
	Now func() time.Time
}

// TargetKind says how a sink takes notices.
type TargetKind string

// The kinds.
const (
	TargetInbox TargetKind = "inbox" // One delivery for the subscribers.
	TargetQueue TargetKind = "queue"
	TargetPush  TargetKind = "push" // With a strategy.
	TargetEach  TargetKind = "each" // With a strategy, and one delivery for each subscriber.
)

// sendBodyTimeout is enough for a list of 1,000 large notices.
const sendBodyTimeout = 30 * time.Second

func (h *Handlers) registerSend(operations huma.API) {
	send := api.Operation("send-notices", http.MethodPost, "/notices", "notices", "Send notices")
	send.Description = "A business system sends its own notices, all or none. The ledger has the notices before the answer comes. A client that lost the answer can repeat the " +
		"request under the same Idempotency-Key: it gets the same answer, and nothing is sent twice."
	send.DefaultStatus = http.StatusCreated
	send.Responses["200"] = &huma.Response{
		Description: "the same request was sent before under this key; this is the answer to that request",
		Content:     map[string]*huma.MediaType{string(api.MediaJSON): {Schema: api.SchemaOf[wire.SentForm](operations.OpenAPI())}},
	}
	send.MaxBodyBytes, send.BodyReadTimeout = notice.MaxRequestBytes, sendBodyTimeout
	huma.Register(operations, send, h.sendNotices)
	limitNotices(operations.OpenAPI())
}

// sendNotices answers POST /notices: 201, or 200 where the request was made before.
func (h *Handlers) sendNotices(ctx context.Context, in *sendInput) (*sendOutput, error) {
	sending, prob := h.newSending(ctx, in)
	if prob != nil {
		return nil, prob
	}
	types, err := h.deps.Types(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	sending.types = types
	notices, prob := sending.notices(in.Body.Notices)
	if prob != nil {
		return h.sentBefore(ctx, in.Key, notices, prob)
	}
	began := time.Now()
	sent, err := h.deps.Sends.Send(ctx, notices)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	if len(sent.List) > 0 && !sent.List[0].Existing {
		h.deps.Tracer.Sent(ctx, notices[0].Notice, began, len(notices))
	}
	h.deps.Sends.Wake(sent.Lanes)
	return h.sent(ctx, notices, &sent)
}

// sentBefore answers a request that is invalid now. If the same request was accepted before, the client gets the same
// answer again, because the fault (for example a removed type) is newer. Otherwise the client gets the problem.
func (h *Handlers) sentBefore(ctx context.Context, key string, notices []ledger.NewNotice, prob *wire.Problem) (*sendOutput, error) {
	if key == "" {
		return nil, prob
	}
	sent, err := h.deps.Sends.Sent(ctx, notices)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	if slices.ContainsFunc(sent.List, func(s ledger.SentNotice) bool { return !s.Existing || s.Other }) {
		return nil, prob
	}
	return h.sent(ctx, notices, &sent)
}

// sent makes the answer.
func (h *Handlers) sent(ctx context.Context, notices []ledger.NewNotice, sent *ledger.SentNotices) (*sendOutput, error) {
	out := &sendOutput{Status: http.StatusOK, Body: wire.SentForm{Notices: make([]wire.SentNoticeForm, len(sent.List))}}
	added, deliveries := 0, 0
	for i := range sent.List {
		s := &sent.List[i]
		if s.Other {
			return nil, wire.NewProblem(http.StatusConflict, wire.CodeIdempotencyKeyReused,
				"another request was made under this Idempotency-Key; a key is for one request and its repetitions")
		}
		if !s.Existing {
			added++
			deliveries += s.Deliveries
			h.deps.Meter.NoticeMade(notices[i].Notice.Type, string(notices[i].Notice.Status))
		}
		out.Body.Notices[i] = wire.SentNoticeForm{ID: s.ID, Deliveries: s.Deliveries, Unsubscribed: s.Unsubscribed}
	}
	if added > 0 {
		out.Status = http.StatusCreated
		h.log.LogAttrs(ctx, slog.LevelDebug, "Notices were sent by a business system.", slog.Int("notices", added), slog.Int("deliveries", deliveries))
	}
	return out, nil
}

// limitNotices adds the limits of notices to the schemas of the body.
func limitNotices(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	schemas["Send"].Properties["notices"].MaxItems = new(notice.MaxRequest)
	setTextLimits(schemas["SendText"])
	s := schemas["SendNotice"]
	setTextLimits(s)
	s.Properties["warehouse"].MaxLength = new(notice.MaxName)
	s.Properties["texts"].MaxProperties = new(notice.MaxLanguages)
	s.Properties["priority"].Minimum, s.Properties["priority"].Maximum = new(float64(notice.LowestPriority)), new(float64(notice.HighestPriority))
	labels := s.Properties["labels"]
	labels.MaxProperties = new(notice.MaxLabels)
	if of, ok := labels.AdditionalProperties.(*huma.Schema); ok {
		of.MaxLength = new(notice.MaxLabel)
	}
	recipients := s.Properties["recipients"]
	recipients.MaxItems, recipients.Items.MaxLength = new(notice.MaxRecipients), new(len("user:")+api.MaxSubscriberID)
	s.Properties["deliver"].MaxItems = new(notice.MaxSinks)
}

func setTextLimits(s *huma.Schema) {
	s.Properties["title"].MaxLength, s.Properties["body"].MaxLength = new(notice.MaxTitle), new(notice.MaxBody)
}

type (
	sendInput struct {
		Key  string `header:"Idempotency-Key" doc:"at most 255 printable characters. A request that is repeated under the same key sends nothing twice"`
		Body wire.SendForm
	}
	sendOutput struct {
		Status int
		Body   wire.SentForm
	}
)

// maxFaults is the maximum number of faults in a problem.
const maxFaults = 100

// faults collects the faults of a body. The problem has the code of the first fault.
type faults struct {
	code wire.Code
	list []wire.Fault
	more int // Number of faults that were left out.
}

// add adds a fault.
func (f *faults) add(code wire.Code, at, message string) {
	if f.code == "" {
		f.code = code
	}
	if len(f.list) == maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, wire.Fault{Location: at, Message: message})
}

// problem returns the problem, or nil without faults.
func (f *faults) problem() *wire.Problem {
	if len(f.list) == 0 {
		return nil
	}
	list := f.list
	if f.more > 0 {
		list = append(list, wire.Fault{Message: "and " + strconv.Itoa(f.more) + " more"})
	}
	p := wire.NewProblem(http.StatusUnprocessableEntity, f.code, list[0].Location+": "+list[0].Message)
	p.Errors = list
	return p
}
