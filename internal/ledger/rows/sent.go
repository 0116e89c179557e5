package rows

import (
	"errors"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// ErrOther ends a transaction that would send under the id of a notice of another request.
var ErrOther = errors.New("a notice of another request has the id")

// HasFinding tells whether the notice is of a finding. What a business system sent is of none.
func HasFinding(n *notice.Notice) bool { return n.Status != notice.Sent }

// Sent makes the answer to ledger.Sends.
type Sent struct {
	given      []ledger.NewNotice
	existing   map[string]string // the episode of what was there before, by id
	deliveries map[sentTo]int
}

// sentTo is a notice in a sink.
type sentTo struct{ id, sink string }

// NewSent begins the answer for the notices.
func NewSent(given []ledger.NewNotice) *Sent {
	return &Sent{given: given, existing: map[string]string{}, deliveries: map[sentTo]int{}}
}

// IDs are those of the notices.
func (s *Sent) IDs() []string {
	ids := make([]string, len(s.given))
	for i := range s.given {
		ids[i] = s.given[i].Notice.ID
	}
	return ids
}

// Found takes a notice that is there, as it was encoded.
func (s *Sent) Found(body []byte) error {
	n, err := notice.Unmarshal(body)
	if err == nil {
		s.existing[n.ID] = n.Episode
	}
	return err
}

// Existing returns the ids of the notices that are there.
func (s *Sent) Existing() map[string]bool {
	ids := make(map[string]bool, len(s.existing))
	for id := range s.existing {
		ids[id] = true
	}
	return ids
}

// Delivered takes deliveries of a notice that is there.
func (s *Sent) Delivered(id, sink string, n int) { s.deliveries[sentTo{id, sink}] += n }

// Others tells whether something that is there came with another request.
func (s *Sent) Others() bool {
	for i := range s.given {
		if s.other(s.given[i].Notice) {
			return true
		}
	}
	return false
}

func (s *Sent) other(n *notice.Notice) bool {
	episode, existing := s.existing[n.ID]
	return existing && episode != n.Episode
}

// Made takes the deliveries that the plan came to.
func (s *Sent) Made(p *Plan, made []Delivery) {
	for i := range made {
		s.Delivered(p.Notices[made[i].Notice].ID, p.Lanes[made[i].Lane].Sink, 1)
	}
}

// Answer is what became of the notices.
func (s *Sent) Answer(lanes []ledger.Lane) ledger.SentNotices {
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
