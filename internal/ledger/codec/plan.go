package codec

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// Audience describes the recipients of a notice before the subscriptions are read: every subscriber with a
// subscription for the type in the warehouse. Address "" sets no condition. Otherwise the audience has only subscribers
// with an address of that name.
type Audience struct{ Type, Warehouse, Address string }

// Reached is a subscriber and the name of one of the subscriber's addresses.
type Reached struct{ Subscriber, Address string }

// Plan has the notices and deliveries of a commit, as far as they are known without reading the database.
type Plan struct {
	Notices   []Notice   // one for each id, in the order of the commit
	Audiences []Audience // audiences of the deliveries to the inbox and to push channels
	Named     []Reached  // named recipients; only recipients with the address get a delivery
	Lanes     []ledger.Lane
	Over      []string // see ledger.Commit
	Term      int64    // the clock term of the run; 0 without one
	Digest    string   // commits with equal digests are the same commit
}

// Notice is a notice with its encoded body. Encode fills the body.
type Notice struct {
	*notice.Notice
	Body    []byte
	after   string   // see ledger.NewNotice
	named   []string // Recipients of the last sink that has some
	targets []target
}

type target struct {
	lane       int // index in Plan.Lanes
	inbox      bool
	each       bool
	address    string // see ledger.Target.Address
	strategy   *delivery.Strategy
	recipients []string // nil = the recipients come from the audience, if there is one
	audience   int      // index in Plan.Audiences; -1 = none needed
}

// NoticeLane names the deliveries of a notice in a lane.
type NoticeLane struct {
	Notice string
	Lane   ledger.Lane
}

// Delivery is one row of deliveries.
type Delivery struct {
	Notice     int // index in Plan.Notices
	Lane       int // index in Plan.Lanes
	Recipients string
	Expires    int64    // expiry of the notice, or Never
	Push       *PushRow // nil unless the delivery goes to a push channel
}

// NewPlan plans the commit under the claim. Of notices with the same id only the first counts.
func NewPlan(c ledger.Claim, run *ledger.Commit) *Plan {
	p := PlanOf(run.Notices)
	p.Over, p.Term = run.Over, c.Term
	p.Digest = digest(c, run)
	return p
}

// PlanOf plans notices that are written without a claim.
func PlanOf(notices []ledger.NewNotice) *Plan {
	p := &Plan{Notices: make([]Notice, 0, len(notices))}
	seen := make(map[string]bool, len(notices))
	b := planner{plan: p, audiences: map[Audience]int{}, lanes: map[ledger.Lane]int{}, named: map[Reached]int{}}
	for i := range notices {
		n := &notices[i]
		if seen[n.Notice.ID] {
			continue
		}
		seen[n.Notice.ID] = true
		row := Notice{Notice: n.Notice, after: n.After}
		for j := range n.Sinks {
			if len(n.Sinks[j].Recipients) > 0 {
				row.named = n.Sinks[j].Recipients
			}
		}
		for j := range n.Sinks {
			row.targets = append(row.targets, b.target(&row, &n.Sinks[j]))
		}
		p.Notices = append(p.Notices, row)
	}
	return p
}

// planner collects the audiences, lanes and named recipients that the notices of a plan share.
type planner struct {
	plan      *Plan
	audiences map[Audience]int
	lanes     map[ledger.Lane]int
	named     map[Reached]int
}

func (b *planner) target(n *Notice, t *ledger.Target) target {
	lane := ledger.Lane{Sink: t.Sink}
	if t.Inbox {
		lane.Warehouse = n.Warehouse
	}
	out := target{
		lane: place(b.lanes, &b.plan.Lanes, lane), inbox: t.Inbox, each: t.Each, address: t.Address, strategy: t.Strategy, recipients: t.Recipients, audience: -1,
	}
	isPush := t.Strategy != nil
	if isPush && len(out.recipients) == 0 {
		out.recipients = n.named
	}
	switch {
	// A resolution goes to the recipients of its firing notice, see Facts; a queue has no recipients.
	case n.after != "" || !t.Inbox && !isPush:
	case len(out.recipients) == 0:
		out.audience = place(b.audiences, &b.plan.Audiences, Audience{n.Type, n.Warehouse, t.Address})
	case t.Address != "":
		for _, s := range out.recipients {
			place(b.named, &b.plan.Named, Reached{s, t.Address})
		}
	}
	return out
}

// Encode starts to encode the bodies in the background, and returns a function that waits for the result. Nobody may
// change the notices until then.
func (p *Plan) Encode() (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- p.encode() }()
	return sync.OnceValue(func() error { return <-done })
}

func (p *Plan) encode() error {
	for i := range p.Notices {
		body, err := notice.Marshal(p.Notices[i].Notice)
		if err != nil {
			return err
		}
		p.Notices[i].Body = body
	}
	return nil
}

// place returns the position of v in the list. place appends v if v is new.
func place[T comparable](at map[T]int, list *[]T, v T) int {
	i, ok := at[v]
	if !ok {
		i = len(*list)
		at[v] = i
		*list = append(*list, v)
	}
	return i
}

// IDs returns the ids of the notices.
func (p *Plan) IDs() []string {
	ids := make([]string, len(p.Notices))
	for i := range p.Notices {
		ids[i] = p.Notices[i].ID
	}
	return ids
}

// After returns the ids of the firing notices that resolutions in the plan retract. Make needs to know their
// deliveries.
func (p *Plan) After() []string {
	var ids []string
	for i := range p.Notices {
		if id := p.Notices[i].after; id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// Drop removes the notices that the ledger has already.
func (p *Plan) Drop(existing map[string]bool) {
	if len(existing) == 0 {
		return
	}
	p.Notices = slices.DeleteFunc(p.Notices, func(n Notice) bool { return existing[n.ID] })
}

func compareLanes(a, b ledger.Lane) int {
	return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Warehouse, b.Warehouse))
}

// Facts has what the database knows about a plan.
type Facts struct {
	Audiences []string         // for each of Plan.Audiences the subscribers, sorted and separated by spaces
	Reached   map[Reached]bool // for Plan.Named: true for recipients who have the address
	// Told has the recipients of the notices of Plan.After that were delivered or are on their way. For push channels
	// Sent and Open have them instead.
	Told map[NoticeLane]string
	// Ended has the deliveries of the notices of Plan.After that have ended unsent.
	Ended map[NoticeLane]bool
	// Recipients of each sent delivery to a push channel, of the notice or of an earlier notice of its episode.
	Sent map[NoticeLane][]string
	Open []OpenPush // open deliveries of the plan's findings, in the order of Seq
}

// AddTold adds a delivery of a notice of Plan.After. told is false if the delivery has ended unsent.
func (k *Facts) AddTold(at NoticeLane, recipients string, told bool) {
	if k.Told == nil {
		k.Told, k.Ended = map[NoticeLane]string{}, map[NoticeLane]bool{}
	}
	if told {
		k.Told[at] = recipients
	} else {
		k.Ended[at] = true
	}
}

// AddSent adds sent deliveries to a push channel. body is the notice of these deliveries: the retracted notice, or
// another notice with the same finding number. The other notice counts only if its episode is the same.
func (k *Facts) AddSent(back *Retraction, sink string, recipients []string, body []byte) error {
	n, err := notice.Unmarshal(body)
	if err != nil {
		return err
	}
	if n.ID == back.Notice || episodeOf(n) == back.Episode {
		at := NoticeLane{Notice: back.Notice, Lane: ledger.Lane{Sink: sink}}
		k.Sent[at] = append(k.Sent[at], recipients...)
	}
	return nil
}

// PlanResult is the finished plan.
type PlanResult struct {
	Deliveries   []Delivery // in the order of the notices
	Unsubscribed int        // deliveries that nobody has subscribed to
	Canceled     []int64    // open deliveries that the commit must cancel, ascending

	plan *Plan
}

// Make finishes the plan with the facts from the database.
func (p *Plan) Make(known *Facts) *PlanResult {
	m := &PlanResult{plan: p, Deliveries: make([]Delivery, 0, len(p.Notices))}
	pushes := newOpenPushes(p, known)
	for i := range p.Notices {
		n := &p.Notices[i]
		for j := range n.targets {
			t := &n.targets[j]
			if t.strategy == nil && n.after != "" {
				at := NoticeLane{n.after, p.Lanes[t.lane]}
				if recipients, wanted := known.Told[at]; wanted || !known.Ended[at] { // an ended delivery had recipients
					m.add(t, i, recipients, wanted)
				}
				continue
			}
			switch {
			case n.after != "":
				for _, recipients := range pushes.takeBack(n, t) {
					m.add(t, i, recipients, true)
				}
			case t.each:
				m.addEach(t, i, t.readers(known))
			default:
				recipients := strings.Join(t.readers(known), " ")
				m.add(t, i, recipients, recipients != "" || !t.inbox)
			}
		}
	}
	m.Canceled = pushes.canceled()
	pushes.line(m.Deliveries)
	return m
}

// readers returns the recipients, without the recipients who lack the address.
func (t *target) readers(known *Facts) []string {
	switch {
	case t.audience >= 0:
		return Recipients(known.Audiences[t.audience])
	case t.address == "":
		return t.recipients
	default:
		return slices.DeleteFunc(slices.Clone(t.recipients), func(s string) bool { return !known.Reached[Reached{s, t.address}] })
	}
}

// add adds a delivery if it is wanted. Otherwise it counts an unsubscribed delivery, but only where subscribers would
// have been the recipients.
func (m *PlanResult) add(t *target, n int, recipients string, wanted bool) {
	if wanted {
		of := m.plan.Notices[n].Notice
		m.Deliveries = append(m.Deliveries, Delivery{Notice: n, Lane: t.lane, Recipients: recipients, Expires: t.expires(of), Push: t.push(of, recipients)})
	} else if t.inbox && t.recipients == nil {
		m.Unsubscribed++
	}
}

func (m *PlanResult) addEach(t *target, n int, readers []string) {
	for _, s := range readers {
		m.add(t, n, s, true)
	}
	if len(readers) == 0 {
		m.Unsubscribed++
	}
}

// Committed returns the answer to the commit.
func (p *Plan) Committed(made *PlanResult) ledger.CommitResult {
	return ledger.CommitResult{Deliveries: len(made.Deliveries), Unsubscribed: made.Unsubscribed, Lanes: p.LanesOf(made.Deliveries)}
}

// LanesOf returns the lanes of the deliveries, sorted.
func (p *Plan) LanesOf(deliveries []Delivery) []ledger.Lane {
	used := make([]bool, len(p.Lanes))
	for i := range deliveries {
		used[deliveries[i].Lane] = true
	}
	var out []ledger.Lane
	for i, lane := range p.Lanes {
		if used[i] {
			out = append(out, lane)
		}
	}
	slices.SortFunc(out, compareLanes)
	return out
}
