package catalog

import (
	"encoding/json"
	"fmt"

	"tallyman/rules/strictyaml"
)

// plain has the fields of Type without its methods.
type plain Type

type wire struct {
	plain
	Retention string `json:"retention,omitempty"`
}

// MarshalJSON writes the retention as a text such as "72h".
func (t Type) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{plain: plain(t), Retention: strictyaml.FormatDuration(t.Retention)})
}

// UnmarshalJSON reads the retention as a text with the units s, m, h and d; DefaultRetention where there is none.
func (t *Type) UnmarshalJSON(text []byte) error {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*t = Type(w.plain)
	t.Retention = DefaultRetention
	if w.Retention != "" {
		d, err := strictyaml.ParseDuration(w.Retention)
		if err != nil {
			return fmt.Errorf("retention: %w", err)
		}
		t.Retention = d
	}
	return nil
}
