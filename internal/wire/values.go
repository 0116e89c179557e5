package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"time"
)

// Moment is the time in UTC; nil for the zero time, which forms leave out.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// NotNil returns the list, an empty one for nil: JSON says [] then, and not null.
func NotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Payload is an item's content: any JSON value. In XML it is the value's JSON text.
type Payload json.RawMessage

// MarshalJSON writes the value.
func (p Payload) MarshalJSON() ([]byte, error) { return json.RawMessage(p).MarshalJSON() }

// UnmarshalJSON keeps the value as it came, without the spaces between its parts: what stands in it may mean more than Go's
// numbers can hold.
func (p *Payload) UnmarshalJSON(data []byte) error {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return err
	}
	*p = b.Bytes()
	return nil
}

// MarshalXML writes the value's text.
func (p Payload) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(string(p), start)
}

// AuditState is a state as JSON. In XML it is the JSON text.
type AuditState json.RawMessage

// MarshalJSON writes it as it is.
func (s AuditState) MarshalJSON() ([]byte, error) { return json.RawMessage(s).MarshalJSON() }

// UnmarshalJSON keeps it as it is.
func (s *AuditState) UnmarshalJSON(data []byte) error {
	return (*json.RawMessage)(s).UnmarshalJSON(data)
}

// MarshalXML writes its text.
func (s AuditState) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(string(s), start)
}
