package rows

import (
	"encoding/json"

	"tallyman/internal/ledger"
)

// Change is a row of audit.
type Change struct {
	Seq, At                 int64
	By, Via, Action, Object string
	BeforeJSON, AfterJSON   string // "" = none
	Reason                  string
	Over                    bool // it is of the next page
}

// Columns returns pointers to the fields in the order of the columns that the query changes names.
func (c *Change) Columns() []any {
	return []any{&c.Seq, &c.At, &c.By, &c.Via, &c.Action, &c.Object, &c.BeforeJSON, &c.AfterJSON, &c.Reason, &c.Over}
}

// change is the row as a record.
func (c *Change) change() ledger.Change {
	return ledger.Change{
		Seq: c.Seq, At: Time(c.At), By: c.By, Via: ledger.Via(c.Via), Action: c.Action, Object: c.Object,
		Before: rawJSON(c.BeforeJSON), After: rawJSON(c.AfterJSON), Reason: c.Reason,
	}
}

// Changes are the records of a page, and whether there are more. The query may have returned one that is of the next page.
func Changes(found []Change, limit int) (list []ledger.Change, more bool) {
	for i := range found {
		if i == limit || found[i].Over {
			return list, true
		}
		list = append(list, found[i].change())
	}
	return list, false
}

// RulesPlace is a row of rule_versions.
type RulesPlace struct {
	Place   int64
	Version string
}

func rawJSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// ChangeArgs returns the columns that add-change takes after the time.
func ChangeArgs(c *ledger.Change) []any {
	return []any{c.By, string(c.Via), c.Action, c.Object, nullJSON(c.Before), nullJSON(c.After), Text(c.Reason)}
}

func nullJSON(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return string(raw)
}

// ChangesArgs returns what the query changes takes.
func ChangesArgs(f *ledger.ChangeFilter) []any {
	since := int64(0)
	if !f.Since.IsZero() {
		since = Micros(f.Since)
	}
	return []any{f.Object, f.By, f.Action, since, f.Before, f.Limit, ledger.PageBytes}
}
