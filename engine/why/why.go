package why

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tallyman/engine"
	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
)

// Ledger is what an explanation reads of Tallyman's database.
type Ledger interface {
	ledger.ScopeReader
	ledger.Traces
	ledger.Audience
	ledger.DeliveryList
}

// Explainer explains the findings of the rules of a node. Explainer is safe for concurrent use.
type Explainer struct {
	engine   *engine.Engine
	ledger   Ledger
	silencer judge.Silencer
	channels map[string]judge.Channel
}

// New makes an explainer for a node's engine, with the ledger and the silences of that engine. silencer may be nil.
func New(e *engine.Engine, l Ledger, silencer judge.Silencer) *Explainer {
	if silencer == nil {
		silencer = &silence.Set{}
	}
	return &Explainer{engine: e, ledger: l, silencer: silencer, channels: e.Channels()}
}

// Answer is everything that is known of one finding.
type Answer struct {
	Rule *rules.Rule
	engine.RuleStatus
	Key     string
	Asked   time.Time               // On the engine's clock.
	Finding *ledger.Finding         // Nil means no finding with the key is open.
	Look    *Look                   // Nil means the caller did not want to ask the source.
	Reasons []Reason                // Why the finding gets no notice now.
	Next    *Forecast               // Nil means no forecast is possible, or nothing will happen.
	Notices []ledger.NoticeTrace    // The notices of the finding, the latest first.
	More    bool                    // The ledger has older notices.
	Waiting []ledger.DeliveryRecord // The pending deliveries of Notices to push channels, the earliest first.
	Alike   []string                // Similar open keys, where nothing is known of this key.
}

// Known tells whether anything is known of the key.
func (a *Answer) Known() bool {
	return a.Finding != nil || len(a.Notices) > 0 || a.Look != nil && a.Look.Found
}

// Reason is one reason why a finding gets no notice now, or why a sink does not get it.
type Reason struct {
	Code  string // Stable.
	Text  string // In English, with times in UTC.
	Facts Facts  // The content of Text, for clients that word it themselves.
}

// Facts are the details of a reason. Its code decides which fields are set; the others are zero.
type Facts struct {
	At, Until   time.Time
	Seen, Asked time.Duration // How long the state has lasted, and how long the rule asks for.
	By          string        // Who switched the rule off. Empty means its file does.
	All         bool          // The switch is for all rules.
	Reason      string        // The text that the author of the switch or the silence gave.
	Error       string
	Baseline    bool // The first run takes its rows as known.
	Event       bool // The rule has mode event.
	Result      bool // The rule judges its result as a whole.
	Shadow      bool // The rule is in shadow.
	Subscriber  string
	Type        string
	Warehouse   string
	Columns     []string // A change of one of these columns causes a new notice.
	Joins       bool     // Another finding in the group causes a new notice.
	Rises       bool     // A priority higher than Priority causes a new notice.
	Priority    int
	// Count is the number of findings that share a notice, or of further deliveries that wait for the same reason. Most
	// is limit.notices.
	Count, Most int
	Key         string
	Silences    []string
	Sink, Node  string
	Attempts    int
	Unless      string // What would cancel the delivery: read, acked, resolved.
}

// Forecast is what will happen to the finding if nothing changes.
type Forecast struct {
	What string    // One of the Next… constants.
	Due  time.Time // The due time of the firing in which it happens.
	At   time.Time // Due plus the rule's jitter.
}

// The values of Forecast.What.
const (
	NextFires    = "fires"    // The finding gets its first notice.
	NextReminder = "reminder" // The finding gets another notice.
	NextResolves = "resolves"
	NextDropped  = "dropped" // The finding is deleted without a notice, because it never fired.
	NextEvent    = "event"   // Mode event: the row gets a notice.
)

// mostNotices is the largest number of notices in an answer.
const mostNotices = 100

// Why collects what is known of the finding with the key. The key is a canonical JSON array, or the values of the key's
// columns separated by commas. It may also be the key of a group, which stands for the group's first open finding.
// scope may be nil for a rule with one scope. With look, Why asks the source how the row is now. Errors are
// *engine.UnknownError, engine.ErrManyScopes, *KeyError, and the ledger's.
func (x *Explainer) Why(ctx context.Context, rule string, scope *string, key string, look bool) (*Answer, error) {
	r, err := x.engine.Rule(rule, scope)
	if err != nil {
		return nil, err
	}
	r = x.engine.Completed(ctx, r)
	a := &Answer{Rule: r, Asked: x.engine.Now().UTC()}
	if a.RuleStatus, err = x.statusOf(ctx, r); err != nil {
		return nil, err
	}
	open, err := x.ledger.Findings(ctx, r.ID, r.Scope)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return nil, err
	}
	state, err := x.engine.State(ctx, r)
	if errors.Is(err, ledger.ErrNotFound) {
		state.Registered = a.Asked
	} else if err != nil {
		return nil, err
	}
	probe := &looker{engine: x.engine, rule: r, state: state, now: a.Asked}
	if probe.back, err = x.ledger.LookBack(ctx, r.ID, r.Scope); err != nil {
		return nil, err
	}
	if look {
		a.Look = &Look{Skipped: a.whyNotLook()}
	}
	if look && a.Look.Skipped == "" {
		a.Look.Failed = errorText(probe.prepare(ctx))
	}
	if a.Key, err = resolveKey(key, r, open, probe.columns()); err != nil {
		return nil, err
	}
	if look && a.Look.Skipped == "" && isGroup(a.Key, r) {
		a.Look.Skipped = SkipGroup
	}
	if a.Look != nil && a.Look.Skipped == "" && a.Look.Failed == "" {
		probe.look(ctx, a.Key, a.Look)
	}
	if err := x.recall(ctx, a); err != nil {
		return nil, err
	}
	if !a.Known() {
		a.Alike = alike(a.Key, open)
	}
	if err := x.waiting(ctx, a); err != nil {
		return nil, err
	}
	g := &gatherer{Explainer: x, answer: a, state: state}
	return a, g.explain(ctx)
}

// recall reads the finding and its notices from the ledger.
func (x *Explainer) recall(ctx context.Context, a *Answer) error {
	keys, ids := []string{a.Key}, []string(nil)
	f, err := x.ledger.Finding(ctx, a.Rule.ID, a.Rule.Scope, a.Key)
	switch {
	case err == nil:
		a.Finding = &f
		if f.Group != "" {
			keys = append(keys, f.Group)
		}
		if f.NoticeID != "" {
			ids = append(ids, f.NoticeID)
		}
	case !errors.Is(err, ledger.ErrNotFound):
		return err
	}
	if a.Finding == nil && a.Look != nil && a.Look.Group != "" {
		keys = append(keys, a.Look.Group)
	}
	list, err := x.ledger.Trace(ctx, a.Rule.ID, a.Rule.Scope, keys, ids, mostNotices+1)
	if err != nil {
		return err
	}
	if a.More = len(list) > mostNotices; a.More {
		list = list[:mostNotices]
	}
	a.Notices = list
	return nil
}

// whyNotLook returns why Why must not ask the source. Empty means it may ask. A statement that costs too much does not
// run for an explanation either.
func (a *Answer) whyNotLook() Skip {
	if a.Verified || a.Reason == "" || a.Rule.Probe.MaxCost == 0 {
		return ""
	}
	if code := codeOf(a.Reason); code == "probe_cost" || code == "probe_cost_unknown" {
		return SkipUnverified
	}
	return ""
}

// WhyNotAsked returns why the source did not say how the row is. Empty means the source said it.
func (a *Answer) WhyNotAsked() string {
	switch a.Look.Skipped {
	case SkipRule:
		return "the finding is about the rule, not about a row"
	case SkipGroup:
		return "the key is the key of a group, and no finding of the group is open"
	case SkipUnverified:
		return "the rule is not allowed to run: " + a.Reason
	}
	return a.Look.Failed
}

// codeOf returns the code at the beginning of an error text.
func codeOf(text string) string {
	code, _, _ := strings.Cut(text, ":")
	return code
}

// statusOf returns the status of the rule in its scope.
func (x *Explainer) statusOf(ctx context.Context, r *rules.Rule) (engine.RuleStatus, error) {
	list, err := x.engine.Scopes(ctx, r.ID)
	if err != nil {
		return engine.RuleStatus{}, err
	}
	for _, s := range list {
		if s.Rule.Scope == r.Scope {
			return s, nil
		}
	}
	return engine.RuleStatus{}, fmt.Errorf("engine: rule %s has no status", r.ID)
}
