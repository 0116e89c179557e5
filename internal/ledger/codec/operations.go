package codec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/silence"
)

// Change is a row of audit.
type Change struct {
	Seq, At                 int64
	By, Via, Action, Object string
	BeforeJSON, AfterJSON   string // "" = none
	Reason                  string
	Over                    bool // The record belongs to the next page.
}

// Columns returns pointers to the fields in the order of the columns that the query changes names.
func (c *Change) Columns() []any {
	return []any{&c.Seq, &c.At, &c.By, &c.Via, &c.Action, &c.Object, &c.BeforeJSON, &c.AfterJSON, &c.Reason, &c.Over}
}

// change returns the row in the ledger's form.
func (c *Change) change() ledger.Change {
	return ledger.Change{
		Seq: c.Seq, At: Time(c.At), By: c.By, Via: ledger.Via(c.Via), Action: c.Action, Object: c.Object,
		Before: rawJSON(c.BeforeJSON), After: rawJSON(c.AfterJSON), Reason: c.Reason,
	}
}

// Changes returns the records of a page, and whether more follow. The query may have returned one record of the next
// page.
func Changes(found []Change, limit int) (list []ledger.Change, more bool) {
	for i := range found {
		if i == limit || found[i].Over {
			return list, true
		}
		list = append(list, found[i].change())
	}
	return list, false
}

// RulesPlace is a row of rule_versions.
type RulesPlace struct {
	Place   int64
	Version string
}

func rawJSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// ChangeArgs returns the columns that add-change takes after the time.
func ChangeArgs(c *ledger.Change) []any {
	return []any{c.By, string(c.Via), c.Action, c.Object, nullJSON(c.Before), nullJSON(c.After), Text(c.Reason)}
}

func nullJSON(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return string(raw)
}

// ChangesArgs returns the arguments of the query changes.
func ChangesArgs(f *ledger.ChangeFilter) []any {
	since := int64(0)
	if !f.Since.IsZero() {
		since = Micros(f.Since)
	}
	return []any{f.Object, f.By, f.Action, since, f.Before, f.Limit, ledger.PageBytes, f.Behind}
}

// Switch is a row of switches.
type Switch struct {
	Rule, Scope   string
	State         int16
	Until, At     int64
	Reason, Actor string
}

// Columns returns pointers to the fields in the order of the columns that the query of switches names.
func (s *Switch) Columns() []any {
	return []any{&s.Rule, &s.Scope, &s.State, &s.Until, &s.At, &s.Reason, &s.Actor}
}

// Switch returns the row in the ledger's form.
func (s *Switch) Switch() ledger.Switch {
	return ledger.Switch{
		Rule: s.Rule, Scope: s.Scope, State: ledger.SwitchState(s.State), Until: Time(s.Until), At: Time(s.At), Reason: s.Reason, By: s.Actor,
	}
}

// SwitchArgs returns the columns that the query set-switch takes.
func SwitchArgs(s *ledger.Switch) []any {
	return []any{s.Rule, s.Scope, int16(s.State), Micros(s.Until), Micros(s.At), Text(s.Reason), Text(s.By)}
}

// Node is a row of nodes.
type Node struct {
	Session, Name, Version, Rules string
	Started, Changed, Seen, Left  int64
}

// Columns returns pointers to the fields in the order of the columns that the query of nodes names.
func (n *Node) Columns() []any {
	return []any{&n.Session, &n.Name, &n.Version, &n.Rules, &n.Started, &n.Changed, &n.Seen, &n.Left}
}

// Node returns the row in the ledger's form.
func (n *Node) Node() ledger.Node {
	return ledger.Node{
		Session: n.Session, Name: n.Name, Version: n.Version, Rules: n.Rules, Started: Time(n.Started), Changed: Time(n.Changed), Seen: Time(n.Seen), Left: Span(n.Left),
	}
}

// Promotion is the promotion in a row of rule_scopes; At 0 = none.
type Promotion struct {
	At int64
	By string
}

// Of returns the promotion in the form of the ledger. The caller checks that At is not 0.
func (p *Promotion) Of(rule, scope string) *ledger.Promotion {
	return &ledger.Promotion{Rule: rule, Scope: scope, At: Time(p.At), By: p.By}
}

// Token is a row of tokens.
type Token struct {
	ID                              string
	Hash                            []byte
	Name, Subject                   string
	Access, Subscribers, Warehouses string // JSON
	Created                         int64
	CreatedBy                       string
	Expires, Used, Revoked          int64
	RevokedBy                       string
}

// Columns returns pointers to the fields in the order of the table's columns.
func (t *Token) Columns() []any {
	return []any{
		&t.ID, &t.Hash, &t.Name, &t.Subject, &t.Access, &t.Subscribers, &t.Warehouses, &t.Created, &t.CreatedBy, &t.Expires,
		&t.Used, &t.Revoked, &t.RevokedBy,
	}
}

// Token returns the row in the ledger's form.
func (t *Token) Token() (ledger.Token, error) {
	out := ledger.Token{
		ID: t.ID, Hash: append([]byte(nil), t.Hash...), Name: t.Name, Subject: t.Subject, Created: Time(t.Created), CreatedBy: t.CreatedBy,
		Expires: Time(t.Expires), Used: Time(t.Used), Revoked: Time(t.Revoked), RevokedBy: t.RevokedBy,
	}
	for _, list := range []struct {
		column string
		to     *[]string
	}{{t.Access, &out.Access}, {t.Subscribers, &out.Subscribers}, {t.Warehouses, &out.Warehouses}} {
		var err error
		if *list.to, err = ParseTexts(list.column); err != nil {
			return out, fmt.Errorf("token %s: %w", t.ID, err)
		}
	}
	return out, nil
}

// TokenArgs returns the columns of a new token.
func TokenArgs(t *ledger.Token) []any {
	return []any{
		t.ID, t.Hash, t.Name, t.Subject, Texts(t.Access), Texts(t.Subscribers), Texts(t.Warehouses), Micros(t.Created), t.CreatedBy, Micros(t.Expires),
	}
}

// Silence is a row of silences.
type Silence struct {
	ID, Matchers    string
	From, Until     int64
	Cron, Timezone  string
	Duration        int64
	Comment, Author string
	Created, Ended  int64
	EndedBy         string
	Events          int64
}

// Columns returns pointers to the fields in the order of the columns that the queries of silences name.
func (s *Silence) Columns() []any {
	return []any{
		&s.ID, &s.Matchers, &s.From, &s.Until, &s.Cron, &s.Timezone, &s.Duration, &s.Comment, &s.Author, &s.Created,
		&s.Ended, &s.EndedBy, &s.Events,
	}
}

// SilenceArgs returns the columns that add-silence takes.
func SilenceArgs(s *silence.Silence) ([]any, error) {
	texts := make([]string, len(s.Matchers))
	for i, m := range s.Matchers {
		texts[i] = m.String()
	}
	matchers, err := json.Marshal(texts)
	if err != nil {
		return nil, fmt.Errorf("ledger: the matchers of silence %s: %w", s.ID, err)
	}
	var w silence.Window
	if s.Window != nil {
		w = *s.Window
	}
	return []any{
		s.ID, string(matchers), Micros(s.From), Micros(s.Until), w.Cron, w.Timezone, w.Duration.Microseconds(), s.Comment,
		s.Author, Micros(s.Created),
	}, nil
}

// Silence returns the row in the ledger's form.
func (s *Silence) Silence() (silence.Silence, error) {
	out := silence.Silence{
		ID: s.ID, From: Time(s.From), Until: Time(s.Until), Comment: s.Comment, Author: s.Author, Created: Time(s.Created),
		Ended: Time(s.Ended), EndedBy: s.EndedBy, Events: s.Events,
	}
	var texts []string
	if err := json.Unmarshal([]byte(s.Matchers), &texts); err != nil {
		return out, fmt.Errorf("ledger: the matchers of silence %s: %w", s.ID, err)
	}
	for _, text := range texts {
		m, err := silence.ParseMatcher(text)
		if err != nil {
			return out, fmt.Errorf("ledger: silence %s: %w", s.ID, err)
		}
		out.Matchers = append(out.Matchers, m)
	}
	if s.Cron != "" {
		var err error
		if out.Window, err = silence.NewWindow(s.Cron, s.Timezone, Span(s.Duration)); err != nil {
			return out, fmt.Errorf("ledger: silence %s: %w", s.ID, err)
		}
	}
	return out, nil
}

// SilenceCounts counts the findings and deliveries that silences hold back.
type SilenceCounts map[string]ledger.SilenceCount

// Findings adds n findings that all of the silences hold back; ids are separated by spaces.
func (h SilenceCounts) Findings(ids string, n int) {
	for id := range strings.FieldsSeq(ids) {
		one := h[id]
		one.Findings += n
		h[id] = one
	}
}

// Deliveries adds n deliveries that the silence holds back.
func (h SilenceCounts) Deliveries(id string, n int) {
	one := h[id]
	one.Deliveries += n
	h[id] = one
}

// SilencesOf returns the ids of silences that dropped events, sorted: all commits lock silences in this order.
func SilencesOf(dropped map[string]int) []string { return slices.Sorted(maps.Keys(dropped)) }
