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

// Hash stands for a key: 128 bits of its SHA-256. Nobody finds two keys of one hash with less than 2^64 trials.
type Hash [16]byte

// HashOf returns the hash of a key.
func HashOf[T string | []byte](key T) Hash {
	sum := sha256.Sum256([]byte(key))
	return Hash(sum[:len(Hash{})])
}

// Open is what a node remembers of the open findings of a rule in a scope between runs: so much of each that a run can tell which rows leave their
// finding as it is. It holds no texts; whatever a row may change is read from the ledger. It is not safe for concurrent use.
type Open struct {
	outlines []outline // of the findings that rows have made, in the order of their keys' hashes
	alerts   []State   // that the rule tells of itself
	pending  int       // how many of outlines
	firing   int
}

// outline is a finding in 40 bytes without a pointer, for there are millions.
type outline struct {
	key      Hash
	watched  watchedHash
	kind     outlineKind
	priority uint8 // as last notified
	phase    Phase
	baseline bool  // nobody is reminded of it
	since    int64 // µs; pending or absent: State.SinceClock; firing: State.LastNotified
}

// watchedHash stands for State.Watched, whose values are hashed to 96 bits themselves.
type watchedHash [12]byte

// outlineKind tells which rows leave a finding as it is.
type outlineKind uint8

const (
	changeable outlineKind = iota // none: something of the finding was held back
	waiting                       // it is pending: any row, until `for` is over
	firing                        // any row that has nothing new
	absent                        // none; without a row it stays until keep_firing_for is over
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

// ReadOpen makes an Open of all open findings, in any order, of those that read visits. Of a State it looks at Phase, SinceClock, AbsentSince,
// Priority, Watched, LastNotified, Ordinal, Silenced and Baseline. alerts are those of the findings that no row makes, as a whole; read leaves them out.
func ReadOpen(alerts []State, read func(visit func(key Hash, st *State)) error) (*Open, error) {
	o := &Open{alerts: alerts}
	err := read(func(key Hash, st *State) {
		o.outlines = append(o.outlines, outlineOf(key, st))
		o.count(st.Phase, 1)
	})
	if err != nil {
		return nil, err
	}
	o.outlines = slices.Clone(o.outlines) // without the room that append has left
	slices.SortFunc(o.outlines, func(a, b outline) int { return bytes.Compare(a.key[:], b.key[:]) })
	return o, nil
}

// NewOpen makes an Open of states, which are all open findings.
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

// AlertHashes are the hashes of the keys of the findings that no row makes.
func AlertHashes() []Hash { return []Hash{HashOf(NoData), HashOf(OnError)} }

// Alerts are the findings that no row makes.
func (o *Open) Alerts() []State { return o.alerts }

// Len returns how many findings there are that rows have made.
func (o *Open) Len() int { return len(o.outlines) }

// Equal tells whether both remember the same.
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

// find returns where the finding is, or belongs.
func (o *Open) find(key Hash) (int, bool) {
	at := sort.Search(len(o.outlines), func(i int) bool { return bytes.Compare(o.outlines[i].key[:], key[:]) >= 0 })
	return at, at < len(o.outlines) && o.outlines[at].key == key
}

// Apply records what a run has changed, once it is committed: the findings after the run, and whether each is gone.
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

// insert merges findings that are new, from the end, so that none is moved twice.
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

// openRun is what a run knows of the findings of an Open.
type openRun struct {
	*Open

	began   time.Time        // of the clock term; see Turned
	decided bits             // of outlines: a row has decided
	put     bits             // of outlines: a row waits to be judged
	learnt  map[string]State // the findings that were read from the ledger, since rows may change them
}

// bits has a bit for each of some things.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) has(at int) bool { return b[at/64]&(1<<(at%64)) != 0 }

func (b bits) set(at int) { b[at/64] |= 1 << (at % 64) }

// unseen are the learnt findings that no row has decided about.
func (o *openRun) unseen() (left []State) {
	for key, st := range o.learnt {
		if at, known := o.find(HashOf(key)); known && !o.decided.has(at) {
			left = append(left, st)
		}
	}
	return left
}

// BeginOpen is Begin for a run that knows the findings by open, which it leaves as it is. began is that of the clock term in force. Before Look, Err
// and Finish the caller has the run learn what it has to know (PutOff, Missing).
func BeginOpen(scope Scope, open *Open, p Policy, began, due time.Time) *Run {
	r := Begin(scope, nil, p, due)
	r.open = &openRun{Open: open, began: began, decided: newBits(len(open.outlines)), put: newBits(len(open.outlines))}
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

// GoesOn tells whether a row that met the condition leaves its finding as it is. Then the row counts as seen, and that is all of it.
func (r *Run) GoesOn(key Hash, priority int, watched []byte) bool {
	at, known := r.open.find(key)
	if !known || r.open.decided.has(at) || r.open.put.has(at) || !r.policy.keeps(&r.open.outlines[at], priority, watched, r) {
		return false
	}
	r.open.decided.set(at)
	return true
}

// keeps is decide for a outline: whether it returns the state as it was, and nothing to tell.
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

// PutOff tells that a row with the key is looked at later. From then on no row with the key goes on: the first of them counts. unread tells whether the
// finding has to be learnt for it.
func (r *Run) PutOff(key Hash) (unread bool) {
	at, known := r.open.find(key)
	if !known || r.open.decided.has(at) || r.open.put.has(at) {
		return false
	}
	r.open.put.set(at)
	return true
}

// Learn takes findings from the ledger. Those that were learnt before are forgotten.
func (r *Run) Learn(states []State) {
	r.open.learnt = make(map[string]State, len(states))
	for i := range states {
		r.open.learnt[states[i].Key] = states[i]
	}
}

// Missing returns the hashes of the findings that no row has shown and that may change by that. They are to be learnt before Finish.
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
