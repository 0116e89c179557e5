package rulebook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine"
	"tallyman/engine/trial/preview"
	"tallyman/engine/why"
	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/authoring"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// Deps are the dependencies of the room.
type Deps struct {
	Rules Rules
	// History is the ledger. RuleFiles returns the state of the rule files on the node. Reload reads the rule files
	// again in the name of a caller. Reload records the changes in the audit before they come into force. If the record
	// cannot be written, Reload returns ledger.ErrNotRecorded.
	History   RuleHistory
	RuleFiles func() view.RuleFiles
	Reload    func(ctx context.Context, who ledger.Author) (wire.Reloaded, error)
	// Preview tries a rule and writes nothing. Its errors are *engine.UnknownError, engine.ErrManyScopes,
	// *authoring.AtError, authoring.ErrBusy, engine.ErrSourceBusy, the errors of preview.Run, and the errors of the
	// ledger.
	Preview func(ctx context.Context, q authoring.PreviewRequest) (*preview.Report, error)
	// Rewind moves watermarks, or counts the rows and notices that would follow. Its errors are the errors of
	// authoring.Node.Rewind.
	Rewind func(ctx context.Context, q authoring.RewindRequest) ([]authoring.RewoundScope, error)
	// RuleSource returns the text of a rule. Its error is *engine.UnknownError.
	RuleSource func(ctx context.Context, id string) (*wire.RuleSource, error)
	// Draft tries another text of a rule and writes nothing. Its errors are the errors of Preview.
	Draft  func(ctx context.Context, q authoring.DraftRequest) (*authoring.DraftResult, error)
	Scopes Scopes
	Audit  ledger.AuditWriter
	Logger *slog.Logger
}

// Handlers serves rules.
type Handlers struct {
	deps Deps
	log  *slog.Logger
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps, deps.Logger} }

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) { h.registerRules(operations) }

// order writes the audit record of an operation outside of the ledger, before the operation is done. If the record
// cannot be written, the caller must not do the operation.
func (h *Handlers) order(ctx context.Context, action, object string, after any) *wire.Problem {
	if err := api.Record(ctx, h.deps.Audit, &ledger.Change{Action: action, Object: object, After: api.StateJSON(after)}); err != nil {
		return api.LedgerFailed(ctx, h.log, err)
	}
	return nil
}

// textState is the audit record of a tried text. Size and hash suffice to check later whether a text is the same.
type textState struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func newTextState(text string) textState {
	sum := sha256.Sum256([]byte(text))
	return textState{len(text), hex.EncodeToString(sum[:])}
}

// triedState is the audit record of a preview or a draft.
type triedState struct {
	At    string    `json:"at,omitempty"`
	Limit int       `json:"limit"`
	Text  textState `json:"text"` // The entry of the rule: the one in force, or the draft.
}

// ruleObject returns the audit name of a rule, or of a scope of the rule.
func ruleObject(id string, scope *string) string {
	if scope == nil || *scope == "" {
		return "rule:" + id
	}
	return "rule:" + id + ":" + *scope
}

// Rules are the operations of the engine that operators use.
type Rules interface {
	Promote(ctx context.Context, who ledger.Author, rule string, scope *string) ([]ledger.Promotion, error)
	// Turn and Pause switch rules. RunNow runs a firing. See package engine.
	Turn(ctx context.Context, who ledger.Author, rule string, scope *string, s ledger.Switch) ([]engine.RuleStatus, error)
	Pause(ctx context.Context, who ledger.Author, s ledger.Switch) error
	RunNow(ctx context.Context, rule string, scope *string, order func(*engine.RequestedFiring) error) (*engine.RequestedFiring, error)
	Switches() []ledger.Switch
	// Status returns the state of every rule, and Scopes the state of one rule. Find returns an *engine.UnknownError if
	// the rule or the scope does not exist.
	Status(ctx context.Context) ([]engine.RuleStatus, error)
	Scopes(ctx context.Context, rule string) ([]engine.RuleStatus, error)
	Find(rule string, scope *string) error
	Now() time.Time // By the clock of the rules.
	Why(ctx context.Context, rule string, scope *string, key string, look bool) (*why.Answer, error)
}

type (
	promoteInput struct {
		ID    string `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Scope string `query:"scope" doc:"one scope; by default every scope in which the rule is in shadow"`
	}
	promotionsOutput struct{ Body wire.PromotionsForm }
	whyInput         struct {
		ID    string   `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Scope string   `query:"scope" doc:"needed where the rule has several scopes"`
		Key   string   `query:"key" required:"true" doc:"key of the finding: a JSON array, or its values separated by commas" example:"[119240,\"A-01\",\"S1\"]"`
		Look  lookFlag `query:"look" doc:"read the finding's row from the source, too"`
	}
	whyOutput struct{ Body *wire.WhyForm }
)

// lookFlag is a text, so that a bad value gets the same code everywhere.
type lookFlag string

// Schema returns the schema of the parameter.
func (lookFlag) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeBoolean, Default: true}
}

func (h *Handlers) registerRules(operations huma.API) {
	promote := api.Operation("promote-rule", http.MethodPost, "/rules/{id}/promote", "rules", "Make a rule in shadow live")
	promote.Description = "From its next run on, on every node, the rule delivers the notices of new findings. Findings that it knows already make no second notice. A resolution " +
		"goes where the notice of its finding went. Promoting a rule twice changes nothing."
	huma.Register(operations, promote, h.promote)
	why := api.Operation("why", http.MethodGet, "/rules/{id}/why", "rules", "Explain the state of one finding, and why it makes no notice")
	huma.Register(operations, why, h.why)
	h.registerPreview(operations)
	h.registerRewind(operations)
	h.registerRuleSource(operations)
	h.registerDraft(operations)
	h.registerRulesLook(operations)
	h.registerRulesChange(operations)
	h.registerScopes(operations)
}

// promote answers POST /rules/{id}/promote.
func (h *Handlers) promote(ctx context.Context, in *promoteInput) (*promotionsOutput, error) {
	if prob := api.InScope(ctx, api.Optional(in.Scope)); prob != nil {
		return nil, prob
	}
	who := auth.From(ctx)
	list, err := h.deps.Rules.Promote(ctx, who.Author(), in.ID, api.Optional(in.Scope))
	if err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	out := &promotionsOutput{Body: wire.PromotionsForm{Promotions: make([]wire.PromotionForm, len(list))}}
	for i, p := range list {
		out.Body.Promotions[i] = wire.PromotionForm{Rule: p.Rule, Scope: p.Scope, Promoted: p.At.UTC(), By: p.By}
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "Rule was promoted.", slog.String("rule", in.ID), slog.String("scope", in.Scope), slog.String("by", who.Subject))
	return out, nil
}

// why answers GET /rules/{id}/why.
func (h *Handlers) why(ctx context.Context, in *whyInput) (*whyOutput, error) {
	if in.Key == "" {
		return nil, api.MissingParameter("key")
	}
	if in.Look != "" && in.Look != "true" && in.Look != "false" {
		return nil, api.BadParameter("look " + policy.Quote(string(in.Look)) + " is neither true nor false")
	}
	if prob := api.InScope(ctx, api.Optional(in.Scope)); prob != nil {
		return nil, prob
	}
	w, err := h.deps.Rules.Why(ctx, in.ID, api.Optional(in.Scope), in.Key, in.Look != "false")
	if err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	return &whyOutput{Body: newWhyForm(w)}, nil
}

// rulesFailed converts an error of the engine to a problem.
func (h *Handlers) rulesFailed(ctx context.Context, err error) *wire.Problem {
	var unknown *engine.UnknownError
	var key *why.KeyError
	var unverified *engine.UnverifiedError
	if errors.As(err, &unknown) && !auth.From(ctx).Everywhere() { // A suggested name could belong to another warehouse.
		err = &engine.UnknownError{What: unknown.What, Name: unknown.Name}
	}
	switch {
	case errors.As(err, &unknown) && unknown.What == "scope":
		return wire.NewProblem(http.StatusNotFound, wire.CodeScopeNotFound, err.Error())
	case errors.As(err, &unknown):
		return wire.NewProblem(http.StatusNotFound, wire.CodeRuleNotFound, err.Error())
	case errors.As(err, &key):
		return wire.NewProblem(http.StatusBadRequest, wire.CodeBadKey, err.Error())
	case errors.Is(err, engine.ErrManyScopes):
		return wire.NewProblem(http.StatusBadRequest, wire.CodeScopeMissing, err.Error())
	case errors.As(err, &unverified):
		return wire.NewProblem(http.StatusConflict, wire.CodeRuleUnverified, err.Error())
	case errors.Is(err, engine.ErrUntilPast):
		return wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "until: "+err.Error())
	case errors.Is(err, engine.ErrNotShadow):
		return wire.NewProblem(http.StatusConflict, wire.CodeRuleNotShadow, err.Error()+"; it delivers already")
	}
	return api.LedgerFailed(ctx, h.log, err)
}
