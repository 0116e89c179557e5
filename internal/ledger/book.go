package ledger

import (
	"context"
	"fmt"
	"net/mail"

	"tallyman/internal/delivery"
	"tallyman/internal/text"
	"tallyman/rules/catalog"
)

// Book is the address book: where the subscribers are reached by push channels.
type Book interface {
	// PutSubscriber adds or replaces an entry. ErrInvalid.
	PutSubscriber(ctx context.Context, who Author, s delivery.Subscriber) (added bool, err error)
	// DeleteSubscriber removes it; its subscriptions stay. ErrNotFound.
	DeleteSubscriber(ctx context.Context, who Author, id string) error
	// ListSubscribers pages through the book in the order of ids, after "after".
	ListSubscribers(ctx context.Context, after string, limit int) ([]delivery.Subscriber, error)
	delivery.Addresses
}

// The bounds of an entry of the address book.
const (
	maxSubscriberName = 200 // characters
	maxMailAddresses  = 50
	maxMailAddress    = 320 // bytes, with the name before it
)

// SubscriberFault is what is wrong with a part of an entry of the address book. Field is its name in JSON, as "mail[1]".
type SubscriberFault struct{ Field, Message string }

// CheckSubscriber returns an ErrInvalid that names the first fault of the entry.
func CheckSubscriber(s *delivery.Subscriber) error {
	for _, f := range SubscriberFaults(s) {
		return fmt.Errorf("%w: %s of a subscriber: %s", ErrInvalid, f.Field, f.Message)
	}
	return nil
}

// SubscriberFaults returns all that is wrong with an entry.
func SubscriberFaults(s *delivery.Subscriber) []SubscriberFault {
	var list []SubscriberFault
	fail := func(field, format string, args ...any) {
		list = append(list, SubscriberFault{field, fmt.Sprintf(format, args...)})
	}
	if !subscriberForm.MatchString(s.ID) {
		fail("id", "%q is no subscriber; write user:<id> or role:<id>", s.ID)
	}
	if n := len([]rune(s.Name)); n > maxSubscriberName {
		fail("name", "it has %d characters, at most %d are taken", n, maxSubscriberName)
	}
	if fault := text.Check(s.Name, text.Line); fault != nil {
		fail("name", "%v", fault)
	}
	if s.Language != "" && !catalog.IsLanguage(s.Language) {
		fail("language", "%q is none; write a code such as en, zh or pt-BR", s.Language)
	}
	if len(s.Mail) > maxMailAddresses {
		fail("mail", "it has %d addresses, at most %d are taken", len(s.Mail), maxMailAddresses)
		return list
	}
	for i, address := range s.Mail {
		if fault := mailFault(address); fault != "" {
			fail(fmt.Sprintf("mail[%d]", i), "%s", fault)
		}
	}
	return list
}

// mailFault says what is wrong with a mail address; "" is nothing.
func mailFault(address string) string {
	if len(address) > maxMailAddress {
		return fmt.Sprintf("it has %d bytes, at most %d are taken", len(address), maxMailAddress)
	}
	if fault := text.Check(address, text.Line); fault != nil {
		return fault.Error()
	}
	if _, err := mail.ParseAddress(address); err != nil {
		return fmt.Sprintf("%q is no address; write ann@example.com or Ann Lee <ann@example.com>", address)
	}
	return ""
}
