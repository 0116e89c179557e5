package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"time"
)

// Moment returns the time in UTC, or nil for the zero time, so that a form leaves the member out.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// NotNil returns the list, or an empty list for nil, so that JSON has [] and not null.
func NotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Payload is the content of an item: any JSON value. In XML an item has the JSON text of the value.
type Payload json.RawMessage

// MarshalJSON writes the value.
func (p Payload) MarshalJSON() ([]byte, error) { return json.RawMessage(p).MarshalJSON() }

// UnmarshalJSON keeps the text of the value, without the spaces between its parts. UnmarshalJSON does not decode the
// value, because Go's numbers cannot hold every number of JSON.
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

// AuditState is a state in an audit record, as JSON. In XML a record has the JSON text of the state.
type AuditState json.RawMessage

// MarshalJSON writes the state unchanged.
func (s AuditState) MarshalJSON() ([]byte, error) { return json.RawMessage(s).MarshalJSON() }

// UnmarshalJSON keeps the state unchanged.
func (s *AuditState) UnmarshalJSON(data []byte) error {
	return (*json.RawMessage)(s).UnmarshalJSON(data)
}

// MarshalXML writes the JSON text of the state.
func (s AuditState) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return e.EncodeElement(string(s), start)
}
