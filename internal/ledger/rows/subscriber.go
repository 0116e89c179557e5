package rows

import (
	"fmt"

	"tallyman/internal/delivery"
)

// Subscriber is a row of subscribers.
type Subscriber struct {
	ID, Name, Language string
	Mail               string // JSON
}

// Columns returns pointers to the fields in the order of the table's columns.
func (s *Subscriber) Columns() []any { return []any{&s.ID, &s.Name, &s.Language, &s.Mail} }

// Subscriber is the row as the address book has it.
func (s *Subscriber) Subscriber() (delivery.Subscriber, error) {
	mail, err := ParseTexts(s.Mail)
	if err != nil {
		return delivery.Subscriber{}, fmt.Errorf("subscriber %s: %w", s.ID, err)
	}
	return delivery.Subscriber{ID: s.ID, Name: s.Name, Language: s.Language, Mail: mail}, nil
}

// SubscriberArgs returns the columns of an entry.
func SubscriberArgs(s *delivery.Subscriber) []any {
	return []any{s.ID, s.Name, s.Language, Texts(s.Mail)}
}
