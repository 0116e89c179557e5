package mail

import (
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
)

// maxError is the longest error text, in bytes.
const maxError = 600

// answer is what a server said to the addresses of one mail.
type answer struct {
	accepted []string
	refused  []reply
	later    []reply
}

// reply is what a server said to one address.
type reply struct {
	address string
	err     error
}

// String tells address and answer.
func (r reply) String() string { return fmt.Sprintf("%s: %v", r.address, r.err) }

func join(list []reply) string {
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = r.String()
	}
	return strings.Join(texts, "; ")
}

// refusedError says that the server will never take this mail.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

func isRefusal(err error) bool {
	_, ok := errors.AsType[*refusedError](err)
	return ok
}

// Replies of the 500s that are about the connection, not about what is sent: a person mends them, and then everything must arrive.
// 503 is a bad sequence of commands, the others ask for another authentication (RFC 4954) or say that this is no mail server.
var aboutUs = []int{500, 502, 503, 521, 530, 534, 535, 538}

// forGood tells whether a reply to an address or to the mail itself will always be the same.
func forGood(err error) bool {
	r, ok := errors.AsType[*textproto.Error](err)
	return ok && r.Code >= 500 && r.Code <= 599 && !slices.Contains(aboutUs, r.Code)
}

// answered tells whether an error is the server's word, and not the loss of the connection. With 421 the server hangs up.
func answered(err error) bool {
	r, ok := errors.AsType[*textproto.Error](err)
	return ok && r.Code != 421
}

// clean makes the error's text fit for log and ledger. It keeps no cause, whose text would be the one that was cleaned.
func (c *Channel) clean(err error) error { return errors.New(c.scrubber.Text(err.Error(), maxError)) }
