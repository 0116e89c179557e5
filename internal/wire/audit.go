package wire

import (
	"encoding/json"
	"encoding/xml"
	"time"
)

// AuditForm is a page of changes.
type AuditForm struct {
	XMLName xml.Name          `json:"-" xml:"audit"`
	Changes []AuditChangeForm `json:"changes" xml:"change" doc:"the latest first" nullable:"false"`
	Cursor  string            `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are earlier ones: ask with it as after"`
}

// AuditChangeForm is something that somebody changed.
type AuditChangeForm struct {
	ID     int64      `json:"id" xml:"id,attr"`
	At     time.Time  `json:"at" xml:"at"`
	By     string     `json:"by" xml:"by" doc:"user:<id>, service:<id>, local:<user> of who has opened the ledger itself, or node:<name> of what no person asked for"`
	Via    string     `json:"via" xml:"via" doc:"how they were authenticated: token:<id> of an API token, jwt, none (auth.mode none), or local, a user of the machine who has opened the ledger itself; file and start: rule files that were read, and a node that has started. Older records have api or cli, which the client said of itself" example:"token:t_5rmwxhkqj2ab"`
	Action string     `json:"action" xml:"action" example:"rule.disable"`
	Object string     `json:"object" xml:"object" example:"rule:negative-bin-stock"`
	Before AuditState `json:"before,omitempty" xml:"before,omitempty" doc:"the state before; absent where there was none or it does not matter"`
	After  AuditState `json:"after,omitempty" xml:"after,omitempty" doc:"the state after, or what was asked and done"`
	Reason string     `json:"reason,omitempty" xml:"reason,omitempty"`
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
