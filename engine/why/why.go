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

// Explainer explains the findings of the rules of a node. It is safe for concurrent use.
type Explainer struct {
	engine   *engine.Engine
	ledger   Ledger
	silencer judge.Silencer
	channels map[string]judge.Channel
}

// New makes an explainer of a node's engine, with the ledger and the silences of that engine; silencer may be nil.
func New(e *engine.Engine, l Ledger, silencer judge.Silencer) *Explainer {
	if silencer == nil {
		silencer = &silence.Set{}
	}
	return &Explainer{engine: e, ledger: l, silencer: silencer, channels: e.Channels()}
}

// Answer is what is known of one finding.
type Answer struct {
	Rule *rules.Rule
	engine.RuleStatus
	Key     string
	Asked   time.Time               // on the engine's clock
	Finding *ledger.Finding         // nil = none is open
	Look    *Look                   // nil = the source was not asked
	Reasons []Reason                // why nothing is told now
	Next    *Forecast               // nil = nothing is foreseen
	Notices []ledger.NoticeTrace    // every notice of it, the latest first
	More    bool                    // there are older ones
	Waiting []ledger.DeliveryRecord // those of Notices to push channels that are pending, the earliest first
	Alike   []string                // open keys that may have been meant, where nothing is known of this one
}

// Known tells whether there is anything to say of the key.
func (a *Answer) Known() bool {
	return a.Finding != nil || len(a.Notices) > 0 || a.Look != nil && a.Look.Found
}

// Reason is one reason why a finding is not told now, or not where it would be.
type Reason struct {
	Code  string // a stable word
	Text  string // in English, with times in UTC
	Facts Facts  // what Text says, for those who word it themselves
}

// Facts are the particulars of a reason, by its code. What a code has nothing to say of is zero.
type Facts struct {
	At, Until   time.Time
	Seen, Asked time.Duration // how long it has been so, of how long the rule asks
	By          string        // who has switched the rule off; "" = its file says so
	All         bool          // with all other rules
	Reason      string        // as whoever switched or silenced has given it
	Error       string
	Baseline    bool // the first run takes its rows as known
	Event       bool // of a rule of mode event
	Result      bool // of a rule that judges its result as a whole
	Shadow      bool // of a rule in shadow
	Subscriber  string
	Type        string
	Warehouse   string
	Columns     []string // whose change is news
	Joins       bool     // another finding in the group is news
	Rises       bool     // a higher priority than Priority is news
	Priority    int
	Count, Most int // findings that share a notice, other deliveries that wait alike; of the limit
	Key         string
	Silences    []string
	Sink, Node  string
	Attempts    int
	Unless      string // what would cancel the delivery: read, acked, resolved
}

// Forecast is what comes of the finding if nothing changes.
type Forecast struct {
	What string    // one of the Next… constants
	Due  time.Time // of the firing
	At   time.Time // with the rule's jitter
}

// What Forecast.What says.
const (
	NextFires    = "fires"    // it is told for the first time
	NextReminder = "reminder" // it is told again
	NextResolves = "resolves"
	NextDropped  = "dropped" // it goes without a word: it never fired
	NextEvent    = "event"   // mode event: the row is told
)

// mostNotices is how many notices an answer has.
const mostNotices = 100

// Why gathers what is known of the finding with the key: a canonical JSON array, or the values of the key's columns,
// separated by commas; so may be given the key of a group, which stands for its first open finding. scope may be nil
// where the rule has one. With look the source is asked how the row is now. Errors are *engine.UnknownError,
// engine.ErrManyScopes, *KeyError, and the ledger's.
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

// recall reads the finding and everything that was told of it.
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

// whyNotLook is why the source is not asked although it could be.
func (a *Answer) whyNotLook() Skip {
	if a.Verified || a.Reason == "" || a.Rule.Probe.MaxCost == 0 {
		return ""
	}
	if code := codeOf(a.Reason); code == "probe_cost" || code == "probe_cost_unknown" {
		return SkipUnverified
	}
	return ""
}

// WhyNotAsked is why the source did not say how the row is; "" = it did.
func (a *Answer) WhyNotAsked() string {
	switch a.Look.Skipped {
	case SkipRule:
		return "the finding is about the rule, not about a row"
	case SkipGroup:
		return "the key is that of a group, and no finding of the group is open"
	case SkipUnverified:
		return "the rule may not run: " + a.Reason
	}
	return a.Look.Failed
}

// codeOf is the code that the text of a fault begins with.
func codeOf(text string) string {
	code, _, _ := strings.Cut(text, ":")
	return code
}

// statusOf is the rule's entry of Status.
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
