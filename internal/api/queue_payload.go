package api

import (
	"bytes"
	"encoding/json"
	"encoding/xml"

	"github.com/danielgtaylor/huma/v2"
)

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

// Schema says that it is any value.
func (Payload) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "any JSON value of at most 64 KB; in XML its JSON text", Examples: []any{map[string]any{"bin": "A-01", "sku": "S1"}}}
}
