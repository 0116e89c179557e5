package codec

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// OpenPush is an open delivery to a push channel, as a commit sees it.
type OpenPush struct {
	Seq, Finding, Addressee int64
	Lane                    ledger.Lane
	Unless                  string
	// At least one attempt was made, or a node has claimed the delivery and not settled it.
	Tried      bool
	Over       bool // Plan.Over names a notice of the delivery's finding.
	Notice     string
	Recipients string
	Episode    Episode // set for a firing notice that is not in Plan.After
}

// Columns returns pointers to the fields in the order of the query's columns.
func (o *OpenPush) Columns() []any {
	return []any{&o.Seq, &o.Finding, &o.Addressee, &o.Lane.Sink, &o.Unless, &o.Tried, &o.Over, &o.Notice, &o.Recipients}
}

// Read decodes the episode from the body of the notice, if the query returned one.
func (o *OpenPush) Read(body []byte) (err error) {
	o.Episode = Episode{}
	if body != nil {
		o.Episode, err = episodeIn(body)
	}
	return err
}

// Episode identifies one unbroken life of a finding.
type Episode struct{ Rule, Scope, Key, Began string }

func episodeOf(n *notice.Notice) Episode { return Episode{n.Rule, n.Scope, n.Key, n.Episode} }

func episodeIn(body []byte) (Episode, error) {
	n, err := notice.Unmarshal(body)
	if err != nil {
		return Episode{}, err
	}
	return episodeOf(n), nil
}

// Concerned returns the numbers of the findings to which the plan's notices for push channels belong. Make needs the
// open deliveries of these findings, and of the findings of Over.
func (p *Plan) Concerned() []int64 {
	var out []int64
	for i := range p.Notices {
		if n := &p.Notices[i]; IsOrdered(n.Notice) && n.pushed() {
			out = append(out, FindingOf(n.Notice))
		}
	}
	return out
}

func (n *Notice) pushed() bool {
	return slices.ContainsFunc(n.targets, func(t target) bool { return t.strategy != nil })
}

// Retraction is a firing notice that a resolution in the plan retracts from push channels.
type Retraction struct {
	Notice  string
	Finding int64
	Since   int64 // Begin of the episode. The resolution also retracts earlier notices of the episode.
	Episode Episode
}

// Retractions returns the firing notices that resolutions in the plan retract from push channels.
func (p *Plan) Retractions() []Retraction {
	var out []Retraction
	for i := range p.Notices {
		if n := &p.Notices[i]; n.after != "" && n.pushed() {
			out = append(out, Retraction{n.after, FindingOf(n.Notice), n.since(p.Term), episodeOf(n.Notice)})
		}
	}
	return out
}

// since returns the begin of the episode that the resolution ends. 0 means that the clock has gone back since, so every
// notice of the finding must be looked at. MaxInt64 means that no other notice counts: for a digest, because all
// digests of a rule have the same key, and for an unreadable episode.
func (n *Notice) since(term int64) int64 {
	began, ok := notice.ParseEpisode(n.Episode)
	if !ok || notice.IsDigest(n.after) {
		return math.MaxInt64
	}
	if began.Term < term || began.Due > Micros(n.CreatedAt) {
		return 0
	}
	return began.Due
}

// openPushes has the open deliveries of the plan's findings, and decides which of them become needless.
type openPushes struct {
	plan     *Plan
	sent     map[NoticeLane][]string
	open     []OpenPush
	of       map[findingIn][]*OpenPush
	needless map[int64]bool
}

// findingIn is a finding in a lane: deliveries go in order within it.
type findingIn struct {
	finding int64
	lane    ledger.Lane
}

// newOpenPushes marks as needless the deliveries with `unless: resolved` whose finding is over.
func newOpenPushes(p *Plan, known *Facts) *openPushes {
	o := &openPushes{
		plan: p, sent: known.Sent, open: known.Open, of: make(map[findingIn][]*OpenPush, len(known.Open)), needless: map[int64]bool{},
	}
	for i := range o.open {
		one := &o.open[i]
		at := findingIn{one.Finding, one.Lane}
		o.of[at] = append(o.of[at], one)
		// All digests of a rule have the same key, so a digest counts only where Plan.Over names it.
		if one.Over && one.Unless == string(delivery.UnlessResolved) && (!notice.IsDigest(one.Notice) || slices.Contains(p.Over, one.Notice)) {
			o.needless[one.Seq] = true
		}
	}
	return o
}

// takeBack returns the recipients of the resolution n. They are the recipients of each delivery of the firing notice,
// or of an earlier notice of its episode, that was sent or that a node has tried. All other open deliveries of the
// episode become needless.
func (o *openPushes) takeBack(n *Notice, t *target) []string {
	lane := o.plan.Lanes[t.lane]
	told := slices.Clone(o.sent[NoticeLane{n.after, lane}])
	episode := episodeOf(n.Notice)
	for _, one := range o.of[findingIn{FindingOf(n.Notice), lane}] {
		switch {
		case one.Notice != n.after && one.Episode != episode: // a delivery of another episode
		case one.Tried:
			told = append(told, one.Recipients)
		default:
			o.needless[one.Seq] = true
		}
	}
	if !t.each && len(told) > 0 { // one delivery for all of them
		told = []string{strings.Join(sortedUnique(Recipients(strings.Join(told, " "))), " ")}
	}
	return sortedUnique(told)
}

func sortedUnique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// canceled returns the needless deliveries, ascending.
func (o *openPushes) canceled() []int64 {
	return slices.Sorted(maps.Keys(o.needless))
}

// line puts each new delivery behind the open deliveries of its finding that are not needless, and behind earlier
// deliveries of the plan.
func (o *openPushes) line(made []Delivery) {
	type key struct {
		findingIn
		addressee int64
	}
	busy := map[key]bool{}
	for i := range o.open {
		if one := &o.open[i]; !o.needless[one.Seq] {
			busy[key{findingIn{one.Finding, one.Lane}, one.Addressee}] = true
		}
	}
	for i := range made {
		p := made[i].Push
		if p == nil || p.Finding == nil {
			continue
		}
		at := key{findingIn{*p.Finding, o.plan.Lanes[made[i].Lane]}, p.Addressee}
		if busy[at] {
			p.Due = Behind
		}
		busy[at] = true
	}
}

// ErrOther ends a transaction that would send a notice with an id that a notice of another request has.
var ErrOther = errors.New("the id belongs to a notice of another request")

// IsOrdered tells whether the deliveries of notices with the same rule, scope and key go in order. The notices of a
// finding and the events of an item do. A notice that a business system sends has no key, and its deliveries wait for
// no other.
func IsOrdered(n *notice.Notice) bool { return n.Status != notice.Sent || n.Key != "" }

// SendAnswer builds the answer of ledger.Sends.
type SendAnswer struct {
	given      []ledger.NewNotice
	existing   map[string]string // episodes of the notices that existed before, by id
	deliveries map[sentTo]int
}

// sentTo names a notice and a sink.
type sentTo struct{ id, sink string }

// NewSendAnswer starts the answer for the notices.
func NewSendAnswer(given []ledger.NewNotice) *SendAnswer {
	return &SendAnswer{given: given, existing: map[string]string{}, deliveries: map[sentTo]int{}}
}

// IDs returns the ids of the notices.
func (s *SendAnswer) IDs() []string {
	ids := make([]string, len(s.given))
	for i := range s.given {
		ids[i] = s.given[i].Notice.ID
	}
	return ids
}

// Found adds an existing notice, in encoded form.
func (s *SendAnswer) Found(body []byte) error {
	n, err := notice.Unmarshal(body)
	if err == nil {
		s.existing[n.ID] = n.Episode
	}
	return err
}

// Existing returns the ids of the existing notices.
func (s *SendAnswer) Existing() map[string]bool {
	ids := make(map[string]bool, len(s.existing))
	for id := range s.existing {
		ids[id] = true
	}
	return ids
}

// Delivered adds the number of deliveries of an existing notice to a sink.
func (s *SendAnswer) Delivered(id, sink string, n int) { s.deliveries[sentTo{id, sink}] += n }

// Others tells whether an existing notice came with another request.
func (s *SendAnswer) Others() bool {
	for i := range s.given {
		if s.other(s.given[i].Notice) {
			return true
		}
	}
	return false
}

func (s *SendAnswer) other(n *notice.Notice) bool {
	episode, existing := s.existing[n.ID]
	return existing && episode != n.Episode
}

// Made adds the deliveries that the plan made.
func (s *SendAnswer) Made(p *Plan, made []Delivery) {
	for i := range made {
		s.Delivered(p.Notices[made[i].Notice].ID, p.Lanes[made[i].Lane].Sink, 1)
	}
}

// Answer returns the finished answer.
func (s *SendAnswer) Answer(lanes []ledger.Lane) ledger.SentNotices {
	out := ledger.SentNotices{List: make([]ledger.SentNotice, len(s.given)), Lanes: lanes}
	for i := range s.given {
		given := &s.given[i]
		id := given.Notice.ID
		_, existing := s.existing[id]
		one := ledger.SentNotice{ID: id, Existing: existing, Other: s.other(given.Notice)}
		for j := range given.Sinks {
			t := &given.Sinks[j]
			n := s.deliveries[sentTo{id, t.Sink}]
			one.Deliveries += n
			if n == 0 && (t.Each || t.Inbox && len(t.Recipients) == 0) {
				one.Unsubscribed++
			}
		}
		out.List[i] = one
	}
	return out
}
