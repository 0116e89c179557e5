package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/internal/delivery"
	"tallyman/rules/catalog"
)

// Type is a row of types.
type Type struct {
	Code      string
	ID        int64
	Name      string
	Names     string // JSON
	Category  string
	Retention int64
	Fields    string // JSON
	Defaults  string // JSON
}

// Columns returns pointers to the fields in the order of the table's columns.
func (t *Type) Columns() []any {
	return []any{&t.Code, &t.ID, &t.Name, &t.Names, &t.Category, &t.Retention, &t.Fields, &t.Defaults}
}

// Type returns the type in the catalogue's form.
func (t *Type) Type() (catalog.Type, error) {
	out := catalog.Type{Code: t.Code, ID: t.ID, Name: t.Name, Category: t.Category, Retention: Span(t.Retention)}
	if err := json.Unmarshal([]byte(t.Names), &out.Names); err != nil {
		return out, fmt.Errorf("type %s: decode the names: %w", t.Code, err)
	}
	if err := json.Unmarshal([]byte(t.Fields), &out.Fields); err != nil {
		return out, fmt.Errorf("type %s: decode the fields: %w", t.Code, err)
	}
	if err := json.Unmarshal([]byte(t.Defaults), &out.Defaults); err != nil {
		return out, fmt.Errorf("type %s: decode the defaults: %w", t.Code, err)
	}
	return out, nil
}

// TypeArgs returns the columns of a type.
func TypeArgs(t *catalog.Type) ([]any, error) {
	names, err := json.Marshal(t.Names)
	if err != nil {
		return nil, fmt.Errorf("type %s: encode the names: %w", t.Code, err)
	}
	fields, err := json.Marshal(t.Fields)
	if err != nil {
		return nil, fmt.Errorf("type %s: encode the fields: %w", t.Code, err)
	}
	defaults, err := json.Marshal(t.Defaults)
	if err != nil {
		return nil, fmt.Errorf("type %s: encode the defaults: %w", t.Code, err)
	}
	return []any{t.Code, t.ID, t.Name, string(names), t.Category, t.Retention.Microseconds(), string(fields), string(defaults)}, nil
}

// Sorted returns the types by code, so that two nodes that seed at once take the same locks in the same order.
func Sorted(types catalog.Catalog) []catalog.Type {
	out := make([]catalog.Type, 0, len(types))
	for _, code := range slices.Sorted(maps.Keys(types)) {
		out = append(out, types[code])
	}
	return out
}

// Subscriber is a row of subscribers.
type Subscriber struct {
	ID, Name, Language string
	Mail               string // JSON
	Phone, Alias       string
	Tags, Channels     string // JSON
}

// Columns returns pointers to the fields in the order of the query's columns.
func (s *Subscriber) Columns() []any {
	return []any{&s.ID, &s.Name, &s.Language, &s.Mail, &s.Phone, &s.Alias, &s.Tags, &s.Channels}
}

// Subscriber returns the entry in the address book's form.
func (s *Subscriber) Subscriber() (delivery.Subscriber, error) {
	out := delivery.Subscriber{ID: s.ID, Name: s.Name, Language: s.Language, Phone: s.Phone, Alias: s.Alias}
	var mailErr, tagsErr, channelsErr error
	out.Mail, mailErr = ParseTexts(s.Mail)
	out.Tags, tagsErr = ParseTexts(s.Tags)
	if s.Channels != "" {
		channelsErr = json.Unmarshal([]byte(s.Channels), &out.Channels)
	}
	if err := errors.Join(mailErr, tagsErr, channelsErr); err != nil {
		return delivery.Subscriber{}, fmt.Errorf("subscriber %s: %w", s.ID, err)
	}
	return out, nil
}

// SubscriberArgs returns the columns of an entry. The last one has the names of the subscriber's addresses, which
// commits query.
func SubscriberArgs(s *delivery.Subscriber) ([]any, error) {
	channels := ""
	if len(s.Channels) > 0 {
		b, err := json.Marshal(s.Channels)
		if err != nil {
			return nil, fmt.Errorf("subscriber %s: encode the channels: %w", s.ID, err)
		}
		channels = string(b)
	}
	return []any{s.ID, s.Name, s.Language, Texts(s.Mail), s.Phone, s.Alias, Texts(s.Tags), channels, strings.Join(s.Addresses(), " ")}, nil
}
