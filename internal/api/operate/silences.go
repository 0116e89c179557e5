package operate

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// Silences reads and changes silences.
type Silences struct {
	Ledger ledger.Silences
	Now    func() time.Time // By the engine's clock, which decides whether a silence is active.
	// Changed reads the silences from the ledger again, so that a change is in force on this node before the answer.
	// The other nodes follow.
	Changed func(ctx context.Context) error
}

// mostSilences is the maximum number of silences that have not ended. Each such silence is checked for every notice.
const mostSilences = 1000

func (h *Handlers) registerSilences(operations huma.API) {
	list := api.Operation("list-silences", http.MethodGet, "/silences", "silences", "List silences and maintenance windows, the latest first")
	list.Description = "A silence withholds notices and deliveries, not findings. Findings open, last and resolve as usual. If a finding still fires when the silence ends, " +
		"the next run of its rule makes the notice."
	huma.Register(operations, list, h.listSilences)
	huma.Register(operations, api.Operation("get-silence", http.MethodGet, "/silences/{id}", "silences", "Show a silence"), h.getSilence)
	create := api.Operation("create-silence", http.MethodPost, "/silences", "silences", "Add a silence or a recurring maintenance window")
	create.DefaultStatus = http.StatusCreated
	huma.Register(operations, create, h.createSilence)
	huma.Register(operations, api.Operation("expire-silence", http.MethodPost, "/silences/{id}/expire", "silences",
		"End a silence now; a silence that is over stays as it is"), h.expireSilence)
}

// listSilences answers GET /silences with the silences that may concern the caller's warehouses.
func (h *Handlers) listSilences(ctx context.Context, in *silencesInput) (*silencesOutput, error) {
	for _, name := range in.State {
		if name != "" && !slices.Contains(silenceStates, silence.State(name)) {
			return nil, api.BadParameter("state " + policy.Quote(name) + " is not one of pending, active, expired")
		}
	}
	list, err := h.deps.Silences.Ledger.Silences(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	held, err := h.deps.Silences.Ledger.CountSilenced(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	sees := h.ownSilences(ctx)
	list = slices.DeleteFunc(list, func(s silence.Silence) bool { return !sees(&s) })
	now := h.deps.Silences.Now()
	out := &silencesOutput{Body: wire.SilencesForm{Silences: []wire.SilenceForm{}}}
	for i := range list {
		form := newSilenceForm(&list[i], held[list[i].ID], now)
		if wanted := strings.Join(in.State, ""); wanted == "" || slices.Contains(in.State, form.State) {
			out.Body.Silences = append(out.Body.Silences, form)
		}
	}
	if err := h.warn(ctx, list, out.Body.Silences); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	return out, nil
}

// getSilence answers GET /silences/{id}.
func (h *Handlers) getSilence(ctx context.Context, in *silenceInput) (*silenceOutput, error) {
	s, prob := h.silence(ctx, in.ID)
	if prob != nil {
		return nil, prob
	}
	return h.showSilence(ctx, &s)
}

func (h *Handlers) showSilence(ctx context.Context, s *silence.Silence) (*silenceOutput, error) {
	held, err := h.deps.Silences.Ledger.CountSilenced(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	out := &silenceOutput{Body: newSilenceForm(s, held[s.ID], h.deps.Silences.Now())}
	if err := h.warnOne(ctx, s, &out.Body); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	return out, nil
}

// warn sets the warning of each silence that has not ended and matches nothing foreseeable.
func (h *Handlers) warn(ctx context.Context, list []silence.Silence, forms []wire.SilenceForm) error {
	isOver := func(f wire.SilenceForm) bool { return f.State == string(silence.Expired) }
	if !slices.ContainsFunc(forms, func(f wire.SilenceForm) bool { return !isOver(f) }) {
		return nil
	}
	known, err := h.reach(ctx)
	if err != nil {
		return err
	}
	byID := make(map[string]*silence.Silence, len(list))
	for i := range list {
		byID[list[i].ID] = &list[i]
	}
	for i := range forms {
		if s := byID[forms[i].ID]; s != nil && !isOver(forms[i]) {
			forms[i].Warning = known.silence(s)
		}
	}
	return nil
}

func (h *Handlers) warnOne(ctx context.Context, s *silence.Silence, form *wire.SilenceForm) error {
	forms := []wire.SilenceForm{*form}
	if err := h.warn(ctx, []silence.Silence{*s}, forms); err != nil {
		return err
	}
	*form = forms[0]
	return nil
}

func (h *Handlers) silence(ctx context.Context, id string) (silence.Silence, *wire.Problem) {
	s, err := h.deps.Silences.Ledger.Silence(ctx, id)
	switch {
	case errors.Is(err, ledger.ErrNotFound), err == nil && !h.ownSilences(ctx)(&s): // A silence of another warehouse looks like a silence that does not exist.
		return s, wire.NewProblem(http.StatusNotFound, wire.CodeSilenceNotFound, "there is no silence "+policy.Quote(id)+"; the ledger only keeps ended silences for its retention time")
	case err != nil:
		return s, api.LedgerFailed(ctx, h.log, err)
	}
	return s, nil
}

// createSilence answers POST /silences.
func (h *Handlers) createSilence(ctx context.Context, in *silenceChange) (*silenceOutput, error) {
	who, now := auth.From(ctx), h.deps.Silences.Now().UTC().Truncate(time.Microsecond)
	s, prob := parseSilence(&in.Body, now)
	if prob != nil {
		return nil, prob
	}
	if err := h.types().Name(ctx, typesOf(&s)...); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	s.ID, s.Author, s.Created = "s_"+strings.ToLower(rand.Text()[:12]), who.Subject, now
	if err := s.Check(now); err != nil {
		return nil, silenceFault(err)
	}
	if prob := silencesOwn(who, &s); prob != nil {
		return nil, prob
	}
	list, err := h.deps.Silences.Ledger.Silences(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	over := func(one silence.Silence) bool { return one.State(now) == silence.Expired }
	if len(slices.DeleteFunc(list, over)) >= mostSilences {
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeTooManySilences, "there are 1000 silences that have not ended; end some of them first")
	}
	if err := h.deps.Silences.Ledger.AddSilence(ctx, who.Author(), &s); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.takeInSilences(ctx, s.ID)
	h.log.LogAttrs(ctx, slog.LevelInfo, "Silence was added.", slog.String("silence", s.ID), slog.String("by", s.Author),
		slog.Any("matchers", matcherTexts(&s)), slog.String("comment", s.Comment))
	out := &silenceOutput{Body: newSilenceForm(&s, ledger.SilenceCount{}, now)}
	if err := h.warnOne(ctx, &s, &out.Body); err != nil { // The silence was added, so the answer must not be an error.
		h.log.LogAttrs(ctx, slog.LevelWarn, "Matches of a new silence could not be checked. The answer has no warning.", slog.String("silence", s.ID), slog.Any("error", err))
	}
	return out, nil
}

// typesOf returns pointers to the types in the matchers of the silence. A type may be written as an id.
func typesOf(s *silence.Silence) []*string {
	var names []*string
	for i := range s.Matchers {
		if m := &s.Matchers[i]; m.Name == "type" && (m.Op == silence.Equal || m.Op == silence.NotEqual) {
			names = append(names, &m.Value)
		}
	}
	return names
}

// expireSilence answers POST /silences/{id}/expire.
func (h *Handlers) expireSilence(ctx context.Context, in *silenceInput) (*silenceOutput, error) {
	who := auth.From(ctx)
	s, prob := h.silence(ctx, in.ID)
	if prob != nil {
		return nil, prob
	}
	if prob := silencesOwn(who, &s); prob != nil {
		return nil, prob
	}
	now := h.deps.Silences.Now().UTC().Truncate(time.Microsecond)
	ended, err := h.deps.Silences.Ledger.EndSilence(ctx, who.Author(), s.ID, now)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.takeInSilences(ctx, s.ID)
	if ended {
		s.Ended, s.EndedBy = now, who.Subject
		h.log.LogAttrs(ctx, slog.LevelInfo, "Silence was ended.", slog.String("silence", s.ID), slog.String("by", who.Subject))
	} else if s, prob = h.silence(ctx, in.ID); prob != nil {
		return nil, prob
	}
	return &silenceOutput{Body: newSilenceForm(&s, ledger.SilenceCount{}, now)}, nil
}

// takeInSilences puts a change in force on this node. If the silences cannot be read now, the node reads them within a
// second, like the other nodes. The change was made, so the answer must not be an error.
func (h *Handlers) takeInSilences(ctx context.Context, id string) {
	if err := h.deps.Silences.Changed(ctx); err != nil {
		h.log.LogAttrs(ctx, slog.LevelWarn, "Silences could not be read after a change. This node uses the change at its next reading.", slog.String("silence", id), slog.Any("error", err))
	}
}

// silencesOwn returns nil if the caller may change the silence. A token that is not for all warehouses may only change
// a silence that names one of its warehouses.
func silencesOwn(who *auth.Identity, s *silence.Silence) *wire.Problem {
	if who.Everywhere() {
		return nil
	}
	for _, m := range s.Matchers {
		if m.Name == "warehouse" && m.Op == silence.Equal {
			return api.InWarehouse(who, m.Value)
		}
	}
	return api.Denied(wire.CodeWarehouseDenied, "this operation concerns all warehouses; name one, as in warehouse=119240"+api.Yours(who.Warehouses))
}

// ownSilences returns a function that tells whether a silence may concern the caller's warehouses.
func (h *Handlers) ownSilences(ctx context.Context) func(s *silence.Silence) bool {
	who := auth.From(ctx)
	if who.Everywhere() {
		return func(*silence.Silence) bool { return true }
	}
	var rules []string
	for _, r := range h.deps.Rules.InForce() {
		if api.Concerns(who, r.Scope) {
			rules = append(rules, r.ID)
		}
	}
	return func(s *silence.Silence) bool {
		return slices.ContainsFunc(who.Warehouses, func(warehouse string) bool { return s.Concerns(warehouse, rules) })
	}
}

var silenceStates = []silence.State{silence.Pending, silence.Active, silence.Expired}

type (
	silencesInput struct {
		State []string `query:"state,explode" doc:"only silences in this state; may be repeated: pending, active, expired" nullable:"false"`
	}
	silenceInput struct {
		ID string `path:"id" doc:"id of the silence" example:"s_k3v9q2mwx7ta"`
	}
	silenceChange  struct{ Body wire.SilenceFields }
	silencesOutput struct{ Body wire.SilencesForm }
	silenceOutput  struct{ Body wire.SilenceForm }
)

func newSilenceForm(s *silence.Silence, held ledger.SilenceCount, now time.Time) wire.SilenceForm {
	f := wire.SilenceForm{
		ID: s.ID, State: string(s.State(now)), Matchers: matcherTexts(s), From: s.From.UTC(), Until: wire.Moment(s.Until),
		Next: wire.Moment(s.Next(now)), Comment: s.Comment, Author: s.Author, CreatedAt: s.Created.UTC(), EndedAt: wire.Moment(s.Ended),
		EndedBy: s.EndedBy, Events: s.Events,
	}
	if until, active := s.ActiveUntil(now); active {
		f.ActiveUntil, f.Findings, f.Deliveries = wire.Moment(until), held.Findings, held.Deliveries
	}
	if w := s.Window; w != nil {
		f.Window = &wire.WindowForm{Cron: w.Cron, Timezone: w.Timezone, Duration: strictyaml.FormatDuration(w.Duration)}
	}
	return f
}

func matcherTexts(s *silence.Silence) []string {
	list := make([]string, len(s.Matchers))
	for i, m := range s.Matchers {
		list[i] = m.String()
	}
	return list
}

// parseSilence parses the fields. The caller must call Check, which checks that the fields fit together.
func parseSilence(f *wire.SilenceFields, now time.Time) (silence.Silence, *wire.Problem) {
	s := silence.Silence{From: now, Comment: f.Comment}
	for _, text := range f.Matchers {
		m, err := silence.ParseMatcher(text)
		if err != nil {
			return s, silenceFault(err)
		}
		s.Matchers = append(s.Matchers, m)
	}
	if f.From != nil {
		s.From = f.From.UTC().Truncate(time.Microsecond)
	}
	switch {
	case f.Until != nil && f.For != "":
		return s, bodyFault("for", "leave out for, or leave out until: each of them gives the end")
	case f.Until != nil:
		s.Until = f.Until.UTC().Truncate(time.Microsecond)
	case f.For != "":
		lasts, err := strictyaml.ParseDuration(f.For)
		if err != nil {
			return s, bodyFault("for", err.Error())
		}
		s.Until = s.From.Add(lasts)
	}
	if w := f.Window; w != nil {
		open, err := strictyaml.ParseDuration(w.Duration)
		if err != nil {
			return s, bodyFault(silence.FieldWindow+".duration", err.Error())
		}
		if s.Window, err = silence.NewWindow(w.Cron, w.Timezone, open); err != nil {
			return s, silenceFault(err)
		}
	}
	return s, nil
}

func bodyFault(field, message string) *wire.Problem {
	return api.InvalidBody([]wire.Fault{{Location: "body." + field, Message: message}})
}

// silenceFault returns the fault of a silence with its hint.
func silenceFault(err error) *wire.Problem {
	fault, ok := errors.AsType[*silence.Error](err)
	if !ok {
		return wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, err.Error())
	}
	message := fault.Message
	if fault.Hint != "" {
		message += "; " + fault.Hint
	}
	return bodyFault(fault.Field, message)
}
