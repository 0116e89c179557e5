package codec

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

// Scope is a row of rule_scopes.
type Scope struct {
	Rule, Name                                     string
	Registered, LastDue, LastOKDue, Clock, DoneDue int64
	Watermark                                      string
	Token, RunningDue                              int64
	RunningNode                                    string
	LeaseUntil                                     int64
	Repeated                                       bool
	Alive                                          bool // The claim is in force.
	Promoted                                       int64
	PromotedBy                                     string
	Thawed                                         int64
	Term, RunningTerm                              int64
	Initial                                        string
}

// Columns returns pointers to the fields in the order of the columns that the query of a scope names.
func (s *Scope) Columns() []any {
	return []any{
		&s.Registered, &s.LastDue, &s.LastOKDue, &s.Clock, &s.DoneDue, &s.Watermark, &s.Token, &s.RunningDue, &s.RunningNode,
		&s.LeaseUntil, &s.Repeated, &s.Alive, &s.Promoted, &s.PromotedBy, &s.Thawed, &s.Term, &s.RunningTerm, &s.Initial,
	}
}

// State returns the row in the ledger's form.
func (s *Scope) State() (ledger.ScopeState, error) {
	watermark, err := ParseWatermark(s.Watermark)
	if err != nil {
		return ledger.ScopeState{}, err
	}
	st := ledger.ScopeState{
		Scope:      finding.Scope{Term: s.Term, LastDue: Time(s.LastDue), LastOKDue: Time(s.LastOKDue), Clock: Span(s.Clock), Thawed: Time(s.Thawed)},
		Registered: Time(s.Registered), Done: Time(s.DoneDue), Watermark: watermark, Initial: s.Initial,
		Promoted: Time(s.Promoted), PromotedBy: s.PromotedBy,
	}
	if s.Alive {
		st.Running = &ledger.Claim{
			Rule: s.Rule, Scope: s.Name, Term: s.RunningTerm, Due: Time(s.RunningDue), Node: s.RunningNode, Token: s.Token,
			LeaseUntil: Time(s.LeaseUntil), Repeated: s.Repeated,
		}
	}
	return st, nil
}

// Back encodes ledger.Commit.Back.
func Back(targets []ledger.Target) (string, error) {
	if len(targets) == 0 {
		return "", nil
	}
	b, err := json.Marshal(targets)
	if err != nil {
		return "", fmt.Errorf("encode where resolutions go: %w", err)
	}
	return string(b), nil
}

// ParseBack is the reverse of Back.
func ParseBack(text string) (targets []ledger.Target, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &targets); err != nil {
		return nil, fmt.Errorf("decode where resolutions go: %w", err)
	}
	return targets, nil
}

// Finding is a row of findings.
type Finding struct {
	Key          string
	Phase        int16
	Priority     int16
	Ordinal      int32
	Episode      int64
	SinceClock   int64
	AbsentSince  int64
	FiringSince  int64
	LastNotified int64
	NoticeID     string
	Group        string
	Silenced     string
	Watched      string
	Baseline     bool
	Warehouse    string // warehouse of the finding's notice, by which the database counts; only written
	Term         int64  // clock term of the episode
}

// Columns returns pointers to the fields in the order of the columns that the queries of findings name.
func (f *Finding) Columns() []any {
	return []any{
		&f.Key, &f.Phase, &f.Episode, &f.SinceClock, &f.AbsentSince, &f.FiringSince, &f.Priority, &f.LastNotified, &f.Ordinal,
		&f.NoticeID, &f.Group, &f.Silenced, &f.Watched, &f.Baseline, &f.Term,
	}
}

// Outline has the columns of a finding that finding.Open keeps.
type Outline struct {
	Finding
	KeyHash []byte
}

// Columns returns pointers to the fields in the order of the columns of the query outlines.
func (m *Outline) Columns() []any {
	return []any{
		&m.KeyHash, &m.Phase, &m.SinceClock, &m.AbsentSince, &m.Priority, &m.LastNotified, &m.Ordinal, &m.Silenced, &m.Watched, &m.Baseline,
	}
}

// Hashes encodes hashes of keys as hexadecimal digits, as statements take them.
func Hashes(keys []finding.Hash) []string {
	out := make([]string, len(keys))
	for i := range keys {
		out[i] = hex.EncodeToString(keys[i][:])
	}
	return out
}

// Warehouses returns by id the warehouses of the notices that the run makes. Findings refer to these notices.
func Warehouses(run *ledger.Commit) map[string]string {
	if len(run.Findings) == 0 {
		return nil
	}
	out := make(map[string]string, len(run.Notices))
	for i := range run.Notices {
		out[run.Notices[i].Notice.ID] = run.Notices[i].Notice.Warehouse
	}
	return out
}

// NewFinding makes the row of a finding.
func NewFinding(s *finding.State) Finding {
	return Finding{
		Key: s.Key, Phase: int16(s.Phase), Priority: int16(s.Priority), Ordinal: int32(s.Ordinal), //nolint:gosec // 1 … 5; a reminder a minute for 4000 years
		Episode: Micros(s.Episode), SinceClock: s.SinceClock.Microseconds(), AbsentSince: Micros(s.AbsentSince),
		FiringSince: Micros(s.FiringSince), LastNotified: Micros(s.LastNotified), NoticeID: s.NoticeID,
		Group: s.Group, Silenced: s.Silenced, Watched: s.Watched, Baseline: s.Baseline, Term: s.Term,
	}
}

// State returns the row in the form of package finding.
func (f *Finding) State() finding.State {
	return finding.State{
		Key: f.Key, Phase: finding.Phase(f.Phase), Priority: int(f.Priority), Ordinal: int(f.Ordinal), //nolint:gosec // as NewFinding wrote it
		Episode: Time(f.Episode), SinceClock: Span(f.SinceClock), AbsentSince: Time(f.AbsentSince),
		FiringSince: Time(f.FiringSince), LastNotified: Time(f.LastNotified), NoticeID: f.NoticeID,
		Group: f.Group, Silenced: f.Silenced, Watched: f.Watched, Baseline: f.Baseline, Term: f.Term,
	}
}

// RunArgs returns the columns for the query record-run: the run, under the claim, and the number of unsubscribed
// deliveries.
func RunArgs(c ledger.Claim, r *ledger.Run, answer string, unsubscribed int) []any {
	return []any{
		c.Rule, c.Scope, c.Term, Micros(c.Due), c.Token, answer, r.Node, Micros(r.Started), r.Duration.Microseconds(),
		string(r.Outcome), r.Rows, r.Matched, r.Errored, r.Pending, r.Firing, r.Notices, unsubscribed, r.Strays, r.Error,
		Texts(r.Samples),
	}
}

// Lease encodes the end of a lease of that length from now.
func Lease(now time.Time, d time.Duration) int64 { return now.Add(d).UnixMicro() }

// Answer is kept in the record of a firing: the result of its last commit. When a caller repeats the commit because
// it lost the answer, the ledger recognizes the commit and returns the same result.
type Answer struct {
	Digest       string        `json:"digest"`
	Deliveries   int           `json:"deliveries,omitempty"`
	Unsubscribed int           `json:"unsubscribed,omitempty"`
	Lanes        []ledger.Lane `json:"lanes,omitempty"`
}

// NewAnswer encodes the result of the commit with this digest.
func NewAnswer(digest string, c ledger.CommitResult) (string, error) {
	b, err := json.Marshal(Answer{digest, c.Deliveries, c.Unsubscribed, c.Lanes})
	if err != nil {
		return "", fmt.Errorf("encode the answer: %w", err)
	}
	return string(b), nil
}

// ErrRepeated ends the transaction of a commit that was committed before.
var ErrRepeated = errors.New("the commit was committed before")

// CheckFence compares a commit with the state of the ledger. kept is the answer of the claim's last commit ("" =
// none); token and running are the token and the due time of the firing that runs (0 = none). It returns ErrRepeated,
// with the answer, where the same commit was committed before. It returns ErrFenced where the claim is not in force
// any more.
func CheckFence(c ledger.Claim, digest, kept string, token, running int64) (ledger.CommitResult, error) {
	if kept != "" {
		var a Answer
		if err := json.Unmarshal([]byte(kept), &a); err != nil {
			return ledger.CommitResult{}, fmt.Errorf("decode the answer: %w", err)
		}
		if a.Digest == digest {
			return ledger.CommitResult{Deliveries: a.Deliveries, Unsubscribed: a.Unsubscribed, Lanes: a.Lanes}, ErrRepeated
		}
	}
	if running == 0 || token != c.Token || running != Micros(c.Due) {
		return ledger.CommitResult{}, ledger.ErrFenced
	}
	return ledger.CommitResult{}, nil
}

// digest identifies a commit: two commits of a claim that write the same have the same digest.
func digest(c ledger.Claim, run *ledger.Commit) string {
	h := sha256.New()
	var buf []byte
	number := func(n int64) { buf = binary.AppendVarint(buf, n) }
	text := func(s string) {
		number(int64(len(s)))
		buf = append(buf, s...)
	}
	number(c.Token)
	number(Micros(c.Due))
	number(Micros(run.Run.Started))
	number(int64(run.Run.Rows))
	if run.Again {
		number(1)
	}
	for _, v := range run.Watermark {
		text(string(v.AppendKey(nil)))
	}
	if b := run.LookBack; b != nil {
		number(Micros(b.At))
		number(b.Through)
		for _, v := range b.From {
			text(string(v.AppendKey(nil)))
		}
		for i := range b.Add {
			text(string(b.Add[i].Hashes))
		}
	}
	number(int64(len(run.Findings)))
	for i := range run.Findings {
		number(int64(run.Findings[i].Op))
		text(run.Findings[i].Key)
		if len(buf) > 32<<10 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	number(int64(len(run.Notices)))
	for i := range run.Notices {
		text(run.Notices[i].Notice.ID)
		if len(buf) > 32<<10 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	for _, id := range run.Over {
		text(id)
		if len(buf) > 32<<10 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
