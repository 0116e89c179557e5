package rows

import (
	"slices"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// Known is what the database tells of a plan.
type Known struct {
	Audiences []Reached       // of Plan.Audiences
	Mail      map[string]bool // those of Plan.Named that have an address
	// Told has the recipients of the notices of Plan.After where they were sent or are on their way. Deliveries to push channels
	// are told by Sent and Open instead.
	Told map[Told]string
	Sent map[Told][]string // the recipients of each delivery to a push channel that was sent of the notice, or of an earlier one of its episode
	Open []Open            // what is open of the findings that the plan has to do with, in the order of seq
}

// AddSent takes deliveries to a push channel that were sent, with the body of their notice: that which is taken back, or another
// one of the finding's number, which counts if it is of the same episode.
func (k *Known) AddSent(back *TakenBack, sink string, recipients []string, body []byte) error {
	n, err := notice.Unmarshal(body)
	if err != nil {
		return err
	}
	if n.ID == back.Notice || episodeOf(n) == back.Episode {
		at := Told{Notice: back.Notice, Lane: ledger.Lane{Sink: sink}}
		k.Sent[at] = append(k.Sent[at], recipients...)
	}
	return nil
}

// Reached is an audience, as subscribers that are sorted and separated by spaces.
type Reached struct {
	All  string
	Mail string // those of them that have an address
}

// Made is what a plan comes to.
type Made struct {
	Deliveries   []Delivery // in the order of the notices
	Unsubscribed int        // deliveries with nobody to go to
	Canceled     []int64    // open deliveries that are needless now, ascending

	plan *Plan
}

// Make finishes the plan with what the database told.
func (p *Plan) Make(known *Known) *Made {
	m := &Made{plan: p, Deliveries: make([]Delivery, 0, len(p.Notices))}
	pushes := newOpenPushes(p, known)
	for i := range p.Notices {
		n := &p.Notices[i]
		for j := range n.targets {
			t := &n.targets[j]
			if t.strategy == nil && n.after != "" {
				recipients, wanted := known.Told[Told{n.after, p.Lanes[t.lane]}]
				m.add(t, i, recipients, wanted)
				continue
			}
			switch {
			case n.after != "":
				for _, recipients := range pushes.takeBack(n, t) {
					m.add(t, i, recipients, true)
				}
			case t.each:
				m.addEach(t, i, t.readers(known, n.audience))
			case t.recipients != "":
				m.add(t, i, t.recipients, true)
			case t.inbox:
				recipients := known.Audiences[n.audience].All
				m.add(t, i, recipients, recipients != "")
			default:
				m.add(t, i, "", true)
			}
		}
	}
	m.Canceled = pushes.canceled()
	pushes.line(m.Deliveries)
	return m
}

// readers are the subscribers with an address that are each to have a delivery.
func (t *target) readers(known *Known, audience int) []string {
	if t.recipients == "" {
		return Recipients(known.Audiences[audience].Mail)
	}
	return slices.DeleteFunc(strings.Split(t.recipients, " "), func(s string) bool { return !known.Mail[s] })
}

// add adds a delivery, or counts it as one that nobody wants. Who is named is no subscriber.
func (m *Made) add(t *target, n int, recipients string, wanted bool) {
	if wanted {
		m.Deliveries = append(m.Deliveries, Delivery{Notice: n, Lane: t.lane, Recipients: recipients, Push: t.push(m.plan.Notices[n].Notice, recipients)})
	} else if t.inbox && t.recipients == "" {
		m.Unsubscribed++
	}
}

func (m *Made) addEach(t *target, n int, readers []string) {
	for _, s := range readers {
		m.add(t, n, s, true)
	}
	if len(readers) == 0 {
		m.Unsubscribed++
	}
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
