package finding

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"iter"
	"slices"
	"sort"
	"time"
)

// Hash is the hash of a key: 128 bits of its SHA-256. To find two keys with the same hash takes about 2^64 tries.
type Hash [16]byte

// HashOf returns the hash of a key.
func HashOf[T string | []byte](key T) Hash {
	sum := sha256.Sum256([]byte(key))
	return Hash(sum[:len(Hash{})])
}

// Open is what a node remembers of the open findings of a rule in a scope between runs: enough to tell which rows leave
// their finding unchanged. It holds no texts of these findings. A run reads from the ledger each finding that may
// change. Open is not safe for concurrent use.
type Open struct {
	outlines []outline // findings that rows make, sorted by the hashes of their keys
	alerts   []State   // findings that no row makes
	pending  int       // number of pending outlines
	firing   int       // number of firing outlines
}

// outline is a finding in 40 bytes and without pointers, because there may be millions.
type outline struct {
	key      Hash
	watched  watchedHash
	kind     outlineKind
	priority uint8 // priority in the last notice
	phase    Phase
	baseline bool  // State.Baseline: the finding gets no reminders
	since    int64 // µs; pending or absent: State.SinceClock; firing: State.LastNotified
}

// watchedHash is a hash of State.Watched, whose values are hashes of 96 bits themselves.
type watchedHash [12]byte

// outlineKind tells which rows leave a finding unchanged.
type outlineKind uint8

const (
	changeable outlineKind = iota // No row leaves the finding unchanged: a notice was held back, or the priority is not from 0 to 255.
	waiting                       // Any row does, until `for` is over: the finding is pending.
	firing                        // Any row without news does: the finding is firing.
	absent                        // No row does; without a row the finding stays until keep_firing_for is over.
)

func watchedOf[T string | []byte](watched T) watchedHash {
	if len(watched) == 0 {
		return watchedHash{}
	}
	sum := sha256.Sum256([]byte(watched))
	return watchedHash(sum[:len(watchedHash{})])
}

func outlineOf(key Hash, st *State) outline {
	m := outline{key: key, watched: watchedOf(st.Watched), phase: st.Phase, baseline: st.Baseline}
	if st.Priority >= 0 && st.Priority <= 255 {
		m.priority = uint8(st.Priority)
	}
	switch {
	case st.Phase == Firing && !st.AbsentSince.IsZero():
		m.kind, m.since = absent, st.SinceClock.Microseconds()
	case st.Silenced != "" || int(m.priority) != st.Priority:
	case st.Phase == Pending:
		m.kind, m.since = waiting, st.SinceClock.Microseconds()
	case st.Ordinal > 0 || st.Baseline:
		m.kind, m.since = firing, st.LastNotified.UnixMicro()
	}
	return m
}

// ReadOpen makes an Open from the findings that read visits, in any order. read must visit all open findings that
// rows make. Of each State, ReadOpen uses Phase, SinceClock, AbsentSince, Priority, Watched, LastNotified, Ordinal,
// Silenced and Baseline. alerts has the findings that no row makes.
func ReadOpen(alerts []State, read func(visit func(key Hash, st *State)) error) (*Open, error) {
	o := &Open{alerts: alerts}
	err := read(func(key Hash, st *State) {
		o.outlines = append(o.outlines, outlineOf(key, st))
		o.count(st.Phase, 1)
	})
	if err != nil {
		return nil, err
	}
	o.outlines = slices.Clone(o.outlines) // without the spare capacity of append
	slices.SortFunc(o.outlines, func(a, b outline) int { return bytes.Compare(a.key[:], b.key[:]) })
	return o, nil
}

// NewOpen makes an Open from states, which must be all open findings.
func NewOpen(states []State) *Open {
	rows, alerts := Split(states)
	o, _ := ReadOpen(slices.Clone(alerts), func(visit func(key Hash, st *State)) error {
		for i := range rows {
			visit(HashOf(rows[i].Key), &rows[i])
		}
		return nil
	})
	return o
}

// AlertHashes returns the hashes of the keys of the findings that no row makes.
func AlertHashes() []Hash { return []Hash{HashOf(NoData), HashOf(OnError)} }

// Alerts returns the findings that no row makes.
func (o *Open) Alerts() []State { return o.alerts }

// Len returns the number of open findings that rows make.
func (o *Open) Len() int { return len(o.outlines) }

// Equal tells whether both remember the same findings.
func (o *Open) Equal(other *Open) bool {
	byKey := func(a, b State) int { return cmp.Compare(a.Key, b.Key) }
	return slices.Equal(o.outlines, other.outlines) && o.pending == other.pending && o.firing == other.firing &&
		slices.Equal(slices.SortedFunc(slices.Values(o.alerts), byKey), slices.SortedFunc(slices.Values(other.alerts), byKey))
}

func (o *Open) count(p Phase, n int) {
	switch p {
	case Pending:
		o.pending += n
	case Firing:
		o.firing += n
	}
}

// find returns the index of the finding, or the index where it would be inserted.
func (o *Open) find(key Hash) (int, bool) {
	at := sort.Search(len(o.outlines), func(i int) bool { return bytes.Compare(o.outlines[i].key[:], key[:]) >= 0 })
	return at, at < len(o.outlines) && o.outlines[at].key == key
}

// Apply records the changes of a run after its commit: each changed finding in its new state, and whether it is over.
func (o *Open) Apply(changes iter.Seq2[*State, bool]) {
	var added []outline
	removed := false
	for st, gone := range changes {
		if st.Key == NoData || st.Key == OnError {
			o.applyAlert(st, gone)
			continue
		}
		key := HashOf(st.Key)
		at, known := o.find(key)
		if known {
			o.count(o.outlines[at].phase, -1)
		}
		switch {
		case gone && known:
			o.outlines[at].phase, removed = 0, true
		case gone:
		case known:
			o.outlines[at] = outlineOf(key, st)
			o.count(st.Phase, 1)
		default:
			added = append(added, outlineOf(key, st))
			o.count(st.Phase, 1)
		}
	}
	if removed {
		o.outlines = slices.DeleteFunc(o.outlines, func(m outline) bool { return m.phase == 0 })
	}
	o.insert(added)
}

// insert merges new findings into the sorted outlines, starting at the end, so that each outline moves at most once.
func (o *Open) insert(added []outline) {
	if len(added) == 0 {
		return
	}
	slices.SortFunc(added, func(a, b outline) int { return bytes.Compare(a.key[:], b.key[:]) })
	from := len(o.outlines) - 1
	o.outlines = append(o.outlines, added...)
	for to := len(o.outlines) - 1; len(added) > 0; to-- {
		last := len(added) - 1
		if from >= 0 && bytes.Compare(o.outlines[from].key[:], added[last].key[:]) > 0 {
			o.outlines[to] = o.outlines[from]
			from--
			continue
		}
		o.outlines[to], added = added[last], added[:last]
	}
}

func (o *Open) applyAlert(after *State, gone bool) {
	o.alerts = slices.DeleteFunc(o.alerts, func(st State) bool { return st.Key == after.Key })
	if !gone {
		o.alerts = append(o.alerts, *after)
	}
}

// openRun is the part of a run that knows the findings by an Open.
type openRun struct {
	*Open

	began     time.Time        // when the clock term began; see Turned
	decided   bits             // by outline: a row has decided about the finding
	postponed bits             // by outline: a row of the finding waits to be judged
	learnt    map[string]State // findings read from the ledger, because rows may change them
}

// bits is a set of indexes.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) has(at int) bool { return b[at/64]&(1<<(at%64)) != 0 }

func (b bits) set(at int) { b[at/64] |= 1 << (at % 64) }

// unseen returns the learnt findings that no row has decided about.
func (o *openRun) unseen() (left []State) {
	for key, st := range o.learnt {
		if at, known := o.find(HashOf(key)); known && !o.decided.has(at) {
			left = append(left, st)
		}
	}
	return left
}

// BeginOpen is Begin for a run that knows the findings by open. The run does not change open. began is the time when
// the clock term in force began. Before the caller calls Look, Err or Finish, it must call Learn with the findings that
// PutOff and Missing name.
func BeginOpen(scope Scope, open *Open, p Policy, began, due time.Time) *Run {
	r := Begin(scope, nil, p, due)
	r.open = &openRun{Open: open, began: began, decided: newBits(len(open.outlines)), postponed: newBits(len(open.outlines))}
	r.res.partial = true
	r.res.Pending, r.res.Firing = open.pending, open.firing
	return r
}

// FailOpen is Fail for a run that knows the findings by open.
func FailOpen(scope Scope, open *Open, p Policy, due time.Time) Result {
	res := Fail(scope, nil, p, due)
	res.Pending, res.Firing = open.pending, open.firing
	return res
}

// GoesOn tells whether a row that met the condition leaves its finding unchanged. If so, it marks the finding as
// seen, and the row needs nothing else.
func (r *Run) GoesOn(key Hash, priority int, watched []byte) bool {
	at, known := r.open.find(key)
	if !known || r.open.decided.has(at) || r.open.postponed.has(at) || !r.policy.keeps(&r.open.outlines[at], priority, watched, r) {
		return false
	}
	r.open.decided.set(at)
	return true
}

// keeps tells whether decide would leave the outlined finding unchanged and ask for no notice.
func (p Policy) keeps(m *outline, priority int, watched []byte, r *Run) bool {
	switch m.kind {
	case waiting:
		return r.res.Scope.Clock-micros(m.since) < p.For
	case firing:
		return priority <= int(m.priority) && m.watched == watchedOf(watched) && (p.RepeatInterval == 0 || m.baseline || r.sinceTold(m) < p.RepeatInterval)
	case changeable, absent:
	}
	return false
}

func (r *Run) sinceTold(m *outline) time.Duration {
	return r.due.Sub(Turned(time.UnixMicro(m.since), false, r.open.began, r.due))
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// PutOff records that the caller judges a row with this key later. From then on GoesOn returns false for the key,
// because the first row counts. unread tells whether the caller must first read the finding from the ledger and pass it
// to Learn.
func (r *Run) PutOff(key Hash) (unread bool) {
	at, known := r.open.find(key)
	if !known || r.open.decided.has(at) || r.open.postponed.has(at) {
		return false
	}
	r.open.postponed.set(at)
	return true
}

// Learn takes findings that the caller has read from the ledger. It forgets the ones of the previous call.
func (r *Run) Learn(states []State) {
	r.open.learnt = make(map[string]State, len(states))
	for i := range states {
		r.open.learnt[states[i].Key] = states[i]
	}
}

// Missing returns the hashes of the findings that no row has shown and whose state may change for that reason. The
// caller must pass these findings to Learn before Finish.
func (r *Run) Missing(noData bool) []Hash {
	if noData && r.policy.KeepLast {
		return nil
	}
	var list []Hash
	for at := range r.open.outlines {
		m := &r.open.outlines[at]
		if !r.open.decided.has(at) && (m.kind != absent || r.res.Scope.Clock-micros(m.since) >= r.policy.KeepFiringFor) {
			list = append(list, m.key)
		}
	}
	return list
}
