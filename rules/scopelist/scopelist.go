// Package scopelist holds the scopes that a query returns for a rule: a name, a time zone and parameters for each. The ledger keeps a list as a text; the
// rules are expanded with the list. docs/adr/scopes-from-the-database.md has the decisions.
package scopelist

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Most is how many scopes a list has at most.
const Most = 100_000

// Scope is one scope of a list.
type Scope struct {
	Name     string
	Timezone string         // "" = that of the rule
	Params   map[string]any // string, int64, float64 or bool; what is absent is as the rule says
}

// List is the scopes of a rule, by name.
type List []Scope

// Sort orders the list by name.
func (l List) Sort() {
	slices.SortFunc(l, func(a, b Scope) int { return strings.Compare(a.Name, b.Name) })
}

// scopeText is a scope in the text of a list.
type scopeText struct {
	Name     string                     `json:"name"`
	Timezone string                     `json:"timezone,omitempty"`
	Params   map[string]json.RawMessage `json:"params,omitempty"`
}

// MarshalJSON implements json.Marshaler. A float64 keeps a point or an exponent, so that it is read as one.
func (s Scope) MarshalJSON() ([]byte, error) {
	text := scopeText{Name: s.Name, Timezone: s.Timezone}
	for name, value := range s.Params {
		if text.Params == nil {
			text.Params = make(map[string]json.RawMessage, len(s.Params))
		}
		raw, err := valueText(value)
		if err != nil {
			return nil, fmt.Errorf("scope %s: parameter %s: %w", s.Name, name, err)
		}
		text.Params[name] = raw
	}
	return json.Marshal(text)
}

func valueText(value any) (json.RawMessage, error) {
	f, isFloat := value.(float64)
	if !isFloat {
		return json.Marshal(value)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is no number", f)
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Scope) UnmarshalJSON(data []byte) error {
	var text scopeText
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*s = Scope{Name: text.Name, Timezone: text.Timezone}
	for name, raw := range text.Params {
		value, err := valueOf(raw)
		if err != nil {
			return fmt.Errorf("scope %s: parameter %s: %w", s.Name, name, err)
		}
		if s.Params == nil {
			s.Params = make(map[string]any, len(text.Params))
		}
		s.Params[name] = value
	}
	return nil
}

func valueOf(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case string, bool:
		return v, nil
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return v.Float64()
		}
		return v.Int64()
	}
	return nil, fmt.Errorf("%s is no single value", raw)
}

// Text is the list as the ledger keeps it: equal lists have equal texts.
func (l List) Text() (string, error) {
	if l == nil {
		l = List{}
	}
	text, err := json.Marshal(l)
	return string(text), err
}

// Parse reads what Text has written. The names are in order and each is there once.
func Parse(text string) (List, error) {
	var l List
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil, fmt.Errorf("a list of scopes: %w", err)
	}
	for i := 1; i < len(l); i++ {
		if l[i-1].Name >= l[i].Name {
			return nil, fmt.Errorf("a list of scopes: %q stands before %q", l[i-1].Name, l[i].Name)
		}
	}
	return l, nil
}

// Hash stands for the text of a list.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Difference is what one list changes in another.
type Difference struct{ Added, Changed, Removed List } // Changed as they will be

// None tells whether nothing differs.
func (d *Difference) None() bool { return len(d.Added)+len(d.Changed)+len(d.Removed) == 0 }

// Different compares two sorted lists.
func Different(present, wanted List) (d Difference) {
	before := make(map[string]*Scope, len(present))
	for i := range present {
		before[present[i].Name] = &present[i]
	}
	for _, s := range wanted {
		old, known := before[s.Name]
		switch {
		case !known:
			d.Added = append(d.Added, s)
		case old.Timezone != s.Timezone || !reflect.DeepEqual(old.Params, s.Params) && len(old.Params)+len(s.Params) > 0:
			d.Changed = append(d.Changed, s)
		}
		delete(before, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		d.Removed = append(d.Removed, *before[name])
	}
	return d
}

// Waits tells whether a list needs an operator: an empty one, since the rule would run nowhere, and one that removes more than half of the present scopes. A
// list that changes nothing needs nobody. known is false before the first list.
func (d *Difference) Waits(present, wanted List, known bool) bool {
	if known && d.None() {
		return false
	}
	return len(wanted) == 0 || 2*len(d.Removed) > len(present)
}
