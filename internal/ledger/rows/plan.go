package rows

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"tallyman/engine/notice"
	"tallyman/internal/ledger"
)

// Audience is whom a notice is for before the subscriptions are asked: everyone with a subscription of the
// type in the warehouse.
type Audience struct{ Type, Warehouse string }

// Plan is a commit's notices and deliveries as far as they are known without asking the database.
type Plan struct {
	Notices   []Notice   // one per id, in the order of the commit
	Audiences []Audience // of the inbox deliveries
	Lanes     []ledger.Lane
	Digest    string // equal digests are the same commit
}

// Notice is a notice with its encoded body, which Encode makes.
type Notice struct {
	*notice.Notice
	Body     []byte
	after    string // see ledger.NewNotice
	audience int    // in Audiences; -1 = no inbox, or those of another notice
	targets  []target
}

type target struct {
	lane       int // in Plan.Lanes
	inbox      bool
	recipients string // "" = the audience's
}

// Told is a delivery that was made or is on its way: of a notice in a lane.
type Told struct {
	Notice string
	Lane   ledger.Lane
}

// Delivery is one row of deliveries.
type Delivery struct {
	Notice     int // in Plan.Notices
	Lane       int // in Plan.Lanes
	Recipients string
}

// NewPlan prepares the commit under the claim. Of notices with the same id the first counts.
func NewPlan(c ledger.Claim, run *ledger.Commit) *Plan {
	p := &Plan{Notices: make([]Notice, 0, len(run.Notices))}
	seen := make(map[string]bool, len(run.Notices))
	audiences := map[Audience]int{}
	lanes := map[ledger.Lane]int{}
	for _, n := range run.Notices {
		if seen[n.Notice.ID] {
			continue
		}
		seen[n.Notice.ID] = true
		row := Notice{Notice: n.Notice, after: n.After, audience: -1}
		for _, t := range n.Sinks {
			lane := ledger.Lane{Sink: t.Sink}
			if t.Inbox {
				lane.Warehouse = n.Notice.Warehouse
			}
			recipients := strings.Join(t.Recipients, " ")
			if t.Inbox && n.After == "" && recipients == "" {
				row.audience = place(audiences, &p.Audiences, Audience{n.Notice.Type, n.Notice.Warehouse})
			}
			row.targets = append(row.targets, target{place(lanes, &p.Lanes, lane), t.Inbox, recipients})
		}
		p.Notices = append(p.Notices, row)
	}
	p.Digest = digest(c, run)
	return p
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

// After returns the ids of the notices that others of the plan take back. Their deliveries are what Deliveries wants to
// be told.
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

// Deliveries returns the rows in the order of the notices, and how many inbox deliveries have nobody to go to. It is given
// the recipients of each audience ("" = nobody), and those of the notices of After where they were told.
func (p *Plan) Deliveries(recipients []string, told map[Told]string) (out []Delivery, unsubscribed int) {
	out = make([]Delivery, 0, len(p.Notices))
	for i := range p.Notices {
		n := &p.Notices[i]
		for _, t := range n.targets {
			d := Delivery{Notice: i, Lane: t.lane}
			wanted := true
			switch {
			case n.after != "":
				d.Recipients, wanted = told[Told{n.after, p.Lanes[t.lane]}]
			case t.recipients != "":
				d.Recipients = t.recipients
			case t.inbox:
				d.Recipients = recipients[n.audience]
				wanted = d.Recipients != ""
			}
			if wanted {
				out = append(out, d)
			} else if t.inbox && t.recipients == "" { // who is named is no subscriber
				unsubscribed++
			}
		}
	}
	return out, unsubscribed
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

func compareLanes(a, b ledger.Lane) int {
	return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Warehouse, b.Warehouse))
}
