package ledger

import (
	"context"
	"fmt"

	"tallyman/internal/notice"
)

// Sends is how a business system's own notices enter.
type Sends interface {
	// Send writes notices with their deliveries, as Commit does, in one transaction. One whose id the ledger has already changes nothing
	// and is answered with what is there. Where what is there is of another request, nothing is written at all. ErrInvalid where CheckSend
	// finds something.
	Send(ctx context.Context, notices []NewNotice) (SentNotices, error)
	// Sent answers as Send does for what is there already, and writes nothing.
	Sent(ctx context.Context, notices []NewNotice) (SentNotices, error)
}

// CheckSend returns an ErrInvalid that names the first notice that is beyond the limits of what is sent. Every ledger asks it, whoever has asked
// before.
func CheckSend(notices []NewNotice) error {
	refuse := func(at string, faults []notice.Fault) error {
		for _, f := range faults {
			return fmt.Errorf("%w: %s%s of what is sent: %s", ErrInvalid, at, f.At, f.Message)
		}
		return nil
	}
	all := 0
	for i := range notices {
		n := &notices[i]
		most := 0
		for j := range n.Sinks {
			most = max(most, len(n.Sinks[j].Recipients))
		}
		all += most
		faults := append(notice.CheckSent(n.Notice), notice.CheckRecipients(most)...)
		if len(n.Sinks) > notice.MaxSinks {
			faults = append(faults, notice.Fault{At: "deliver", Message: fmt.Sprintf("it goes to %d sinks, %d are the most", len(n.Sinks), notice.MaxSinks)})
		}
		if err := refuse(fmt.Sprintf("notices[%d].", i), faults); err != nil {
			return err
		}
	}
	return refuse("", notice.CheckRequest(len(notices), all))
}

// SentNotices is the answer to Send and Sent.
type SentNotices struct {
	List  []SentNotice // as the notices were given
	Lanes []Lane       // with something new to deliver
}

// SentNotice is what became of one notice.
type SentNotice struct {
	ID           string
	Existing     bool // it was there before
	Other        bool // and what is there came with another request: its episode is another one
	Deliveries   int  // made
	Unsubscribed int  // deliveries not made, for want of a subscriber
}
