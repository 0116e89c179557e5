// Package scopelist holds the scopes that a query returns for a rule. A scope has a name, a time zone and parameters.
// The ledger keeps a list as a text, and rules.Expand makes Rules from it. docs/adr/scopes-from-the-database.md has the
// decisions.
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

// Most is the most scopes that a list has.
const Most = 100_000

// Scope is one scope of a list.
type Scope struct {
	Name     string
	Timezone string         // Empty means the time zone of the rule.
	Params   map[string]any // Each is a string, int64, float64 or bool. The rule gives the missing parameters.
}

// List is the scopes of a rule, sorted by name.
type List []Scope

// Sort sorts the list by name.
func (l List) Sort() {
	slices.SortFunc(l, func(a, b Scope) int { return strings.Compare(a.Name, b.Name) })
}

// scopeText is a scope in the text of a list.
type scopeText struct {
	Name     string                     `json:"name"`
	Timezone string                     `json:"timezone,omitempty"`
	Params   map[string]json.RawMessage `json:"params,omitempty"`
}

// MarshalJSON implements json.Marshaler. A float64 is written with a point or an exponent, so that it does not come
// back as an int64.
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

// Text returns the list as the ledger keeps it. Equal lists have equal texts.
func (l List) Text() (string, error) {
	if l == nil {
		l = List{}
	}
	text, err := json.Marshal(l)
	return string(text), err
}

// Parse reads the result of Text. It returns an error where the names are not sorted, or where a name is there twice.
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

// Hash returns a short hash of a text, such as the text of a list.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Difference says what differs between a present list and a wanted list. Changed holds the scopes of the wanted list.
type Difference struct{ Added, Changed, Removed List }

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

// Waits tells whether an operator must confirm the wanted list. An empty list needs an operator, because the rule would
// run nowhere. A list that removes more than half of the present scopes needs an operator too. A list without changes
// needs no operator. known is false before the first list.
func (d *Difference) Waits(present, wanted List, known bool) bool {
	if known && d.None() {
		return false
	}
	return len(wanted) == 0 || 2*len(d.Removed) > len(present)
}
