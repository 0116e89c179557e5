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
	Tried                   bool // or claimed by a node that has not said how it ended
	Over                    bool // its finding is that of one of Plan.Over
	Notice                  string
	Recipients              string
	Episode                 Episode // of a firing notice that is none of Plan.After
}

// Columns returns pointers to the fields in the order of the query's columns.
func (o *OpenPush) Columns() []any {
	return []any{&o.Seq, &o.Finding, &o.Addressee, &o.Lane.Sink, &o.Unless, &o.Tried, &o.Over, &o.Notice, &o.Recipients}
}

// Read takes the body of the notice, where the query has given it.
func (o *OpenPush) Read(body []byte) (err error) {
	o.Episode = Episode{}
	if body != nil {
		o.Episode, err = episodeIn(body)
	}
	return err
}

// Episode is one life of one finding.
type Episode struct{ Rule, Scope, Key, Began string }

func episodeOf(n *notice.Notice) Episode { return Episode{n.Rule, n.Scope, n.Key, n.Episode} }

func episodeIn(body []byte) (Episode, error) {
	n, err := notice.Unmarshal(body)
	if err != nil {
		return Episode{}, err
	}
	return episodeOf(n), nil
}

// Concerned returns the numbers of the findings whose open deliveries Make wants to be told, besides those of Over.
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

// Retraction is a firing notice that another of the plan takes back from push channels.
type Retraction struct {
	Notice  string
	Finding int64
	Since   int64 // when the episode began: what was told in it is taken back, too
	Episode Episode
}

// Retractions returns the firing notices that others of the plan take back from push channels.
func (p *Plan) Retractions() []Retraction {
	var out []Retraction
	for i := range p.Notices {
		if n := &p.Notices[i]; n.after != "" && n.pushed() {
			out = append(out, Retraction{n.after, FindingOf(n.Notice), n.since(p.Term), episodeOf(n.Notice)})
		}
	}
	return out
}

// since is when the episode began that the notice ends, 0 where the clock has gone back after that. Digests have one key and are each for themselves.
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

// openPushes is what is open of the findings of a plan, and what becomes of it.
type openPushes struct {
	plan     *Plan
	sent     map[NoticeLane][]string
	open     []OpenPush
	of       map[findingIn][]*OpenPush
	needless map[int64]bool
}

// findingIn is a finding in a lane.
type findingIn struct {
	finding int64
	lane    ledger.Lane
}

// newOpenPushes cancels what waits unless its finding is over.
func newOpenPushes(p *Plan, known *Facts) *openPushes {
	o := &openPushes{
		plan: p, sent: known.Sent, open: known.Open, of: make(map[findingIn][]*OpenPush, len(known.Open)), needless: map[int64]bool{},
	}
	for i := range o.open {
		one := &o.open[i]
		at := findingIn{one.Finding, one.Lane}
		o.of[at] = append(o.of[at], one)
		// Digests have one key and are each for themselves.
		if one.Over && one.Unless == string(delivery.UnlessResolved) && (!notice.IsDigest(one.Notice) || slices.Contains(p.Over, one.Notice)) {
			o.needless[one.Seq] = true
		}
	}
	return o
}

// takeBack returns who is to be told that the finding is over: those who were told of it, or are being told. To others, what
// waits is needless.
func (o *openPushes) takeBack(n *Notice, t *target) []string {
	lane := o.plan.Lanes[t.lane]
	told := slices.Clone(o.sent[NoticeLane{n.after, lane}])
	episode := episodeOf(n.Notice)
	for _, one := range o.of[findingIn{FindingOf(n.Notice), lane}] {
		switch {
		case one.Notice != n.after && one.Episode != episode: // another one's
		case one.Tried:
			told = append(told, one.Recipients)
		default:
			o.needless[one.Seq] = true
		}
	}
	if !t.each && len(told) > 0 { // all of them share a delivery
		told = []string{strings.Join(sortedUnique(Recipients(strings.Join(told, " "))), " ")}
	}
	return sortedUnique(told)
}

func sortedUnique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// canceled returns what is needless.
func (o *openPushes) canceled() []int64 {
	return slices.Sorted(maps.Keys(o.needless))
}

// line puts each delivery behind those of its finding that go on, and those that the plan made before it.
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

// ErrOther ends a transaction that would send under the id of a notice of another request.
var ErrOther = errors.New("a notice of another request has the id")

// IsOrdered tells whether notices of the same rule, scope and key go in order: those of a finding, and the events of an item. What a business system
// sends has no key, and waits for nothing.
func IsOrdered(n *notice.Notice) bool { return n.Status != notice.Sent || n.Key != "" }

// SendAnswer makes the answer to ledger.Sends.
type SendAnswer struct {
	given      []ledger.NewNotice
	existing   map[string]string // the episode of what was there before, by id
	deliveries map[sentTo]int
}

// sentTo is a notice in a sink.
type sentTo struct{ id, sink string }

// NewSendAnswer begins the answer for the notices.
func NewSendAnswer(given []ledger.NewNotice) *SendAnswer {
	return &SendAnswer{given: given, existing: map[string]string{}, deliveries: map[sentTo]int{}}
}

// IDs are those of the notices.
func (s *SendAnswer) IDs() []string {
	ids := make([]string, len(s.given))
	for i := range s.given {
		ids[i] = s.given[i].Notice.ID
	}
	return ids
}

// Found takes a notice that is there, as it was encoded.
func (s *SendAnswer) Found(body []byte) error {
	n, err := notice.Unmarshal(body)
	if err == nil {
		s.existing[n.ID] = n.Episode
	}
	return err
}

// Existing returns the ids of the notices that are there.
func (s *SendAnswer) Existing() map[string]bool {
	ids := make(map[string]bool, len(s.existing))
	for id := range s.existing {
		ids[id] = true
	}
	return ids
}

// Delivered takes deliveries of a notice that is there.
func (s *SendAnswer) Delivered(id, sink string, n int) { s.deliveries[sentTo{id, sink}] += n }

// Others tells whether something that is there came with another request.
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

// Made takes the deliveries that the plan came to.
func (s *SendAnswer) Made(p *Plan, made []Delivery) {
	for i := range made {
		s.Delivered(p.Notices[made[i].Notice].ID, p.Lanes[made[i].Lane].Sink, 1)
	}
}

// Answer is what became of the notices.
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
