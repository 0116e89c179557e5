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

// Audience is whom a notice is for before the subscriptions are asked: everyone with a subscription of the
// type in the warehouse, and with an address of that name; "" is asked for none.
type Audience struct{ Type, Warehouse, Address string }

// Reached is a subscriber with an address of that name.
type Reached struct{ Subscriber, Address string }

// Plan is a commit's notices and deliveries as far as they are known without asking the database.
type Plan struct {
	Notices   []Notice   // one per id, in the order of the commit
	Audiences []Audience // of the deliveries to the inbox and to push channels
	Named     []Reached  // subscribers that are named where each with an address is to have a delivery of their own
	Lanes     []ledger.Lane
	Over      []string // see ledger.Commit
	Term      int64    // the clock term of the run; 0 without one
	Digest    string   // equal digests are the same commit
}

// Notice is a notice with its encoded body, which Encode makes.
type Notice struct {
	*notice.Notice
	Body    []byte
	after   string   // see ledger.NewNotice
	named   []string // the recipients that a sink of the notice names
	targets []target
}

type target struct {
	lane       int // in Plan.Lanes
	inbox      bool
	each       bool
	address    string // of each
	strategy   *delivery.Strategy
	recipients []string // nil = the audience's
	audience   int      // in Plan.Audiences; -1 = none is asked for
}

// NoticeLane is a delivery that was made or is on its way: of a notice in a lane.
type NoticeLane struct {
	Notice string
	Lane   ledger.Lane
}

// Delivery is one row of deliveries.
type Delivery struct {
	Notice     int // in Plan.Notices
	Lane       int // in Plan.Lanes
	Recipients string
	Expires    int64    // the notice, or Never
	Push       *PushRow // nil unless it goes to a push channel
}

// NewPlan prepares the commit under the claim. Of notices with the same id the first counts.
func NewPlan(c ledger.Claim, run *ledger.Commit) *Plan {
	p := PlanOf(run.Notices)
	p.Over, p.Term = run.Over, c.Term
	p.Digest = digest(c, run)
	return p
}

// PlanOf prepares notices that are written without a claim.
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

// planner finds what the notices of a plan have in common.
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

// Encode begins to encode the bodies, beside whatever the caller does meanwhile, and returns what waits for it. The
// notices are not to be touched until then.
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

// place returns the position of v in the list, appending it if it is new.
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

// After returns the ids of the notices that others of the plan take back. Their deliveries are what Make wants to be told.
func (p *Plan) After() []string {
	var ids []string
	for i := range p.Notices {
		if id := p.Notices[i].after; id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// Drop takes out the notices that the ledger has already.
func (p *Plan) Drop(existing map[string]bool) {
	if len(existing) == 0 {
		return
	}
	p.Notices = slices.DeleteFunc(p.Notices, func(n Notice) bool { return existing[n.ID] })
}

func compareLanes(a, b ledger.Lane) int {
	return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Warehouse, b.Warehouse))
}

// Facts is what the database tells of a plan.
type Facts struct {
	Audiences []string         // of Plan.Audiences, as subscribers that are sorted and separated by spaces
	Reached   map[Reached]bool // of Plan.Named
	// Told has the recipients of the notices of Plan.After where they were sent or are on their way. Deliveries to push channels
	// are told by Sent and Open instead.
	Told map[NoticeLane]string
	Sent map[NoticeLane][]string // the recipients of each delivery to a push channel that was sent of the notice, or of an earlier one of its episode
	Open []OpenPush              // what is open of the findings that the plan has to do with, in the order of seq
}

// AddSent takes deliveries to a push channel that were sent, with the body of their notice: that which is taken back, or another
// one of the finding's number, which counts if it is of the same episode.
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

// PlanResult is what a plan comes to.
type PlanResult struct {
	Deliveries   []Delivery // in the order of the notices
	Unsubscribed int        // deliveries with nobody to go to
	Canceled     []int64    // open deliveries that are needless now, ascending

	plan *Plan
}

// Make finishes the plan with what the database told.
func (p *Plan) Make(known *Facts) *PlanResult {
	m := &PlanResult{plan: p, Deliveries: make([]Delivery, 0, len(p.Notices))}
	pushes := newOpenPushes(p, known)
	for i := range p.Notices {
		n := &p.Notices[i]
		for j := range n.targets {
			t := &n.targets[j]
			if t.strategy == nil && n.after != "" {
				recipients, wanted := known.Told[NoticeLane{n.after, p.Lanes[t.lane]}]
				m.add(t, i, recipients, wanted)
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

// readers are the recipients, without those that have not the address.
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

// add adds a delivery, or counts it as one that nobody wants. Who is named is no subscriber.
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

// Committed is the answer to a commit that came to so much.
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
