package why

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/internal/finding"
	"tallyman/rules"
	"tallyman/rules/row"
)

// KeyError says that a text is no key of the rule.
type KeyError struct{ Text string }

// Error returns what a key must look like.
func (e *KeyError) Error() string { return e.Text }

// resolveKey makes a canonical key of a text that a person wrote. Where the columns are not known, it compares the text
// with the keys of the open findings, and else guesses the kinds of the values.
func resolveKey(text string, r *rules.Rule, open []finding.State, columns []row.Column) (string, error) {
	text = strings.TrimSpace(text)
	switch strings.Trim(text, `"`) {
	case "no_data":
		return finding.NoData, nil
	case "on_error":
		return finding.OnError, nil
	}
	var parts []string // In JSON where the text is JSON.
	var err error
	if strings.HasPrefix(text, "[") {
		parts, err = arrayParts(text)
	} else {
		parts, err = listParts(text)
	}
	if err != nil {
		return "", err
	}
	if key, found := groupKey(parts, r, open, columns); found {
		return key, nil
	}
	if len(parts) != len(r.Key) {
		return "", &KeyError{fmt.Sprintf("the key of %s is %s, and not %s", r.ID, keyForm(r), counted(len(parts), "value"))}
	}
	key := canonical(parts, r.Key, columns)
	if strings.HasPrefix(text, "[") || len(columns) > 0 {
		return key, nil
	}
	for i := range open {
		if slices.Equal(plainParts(open[i].Key), unquoted(parts)) {
			return open[i].Key, nil
		}
	}
	return key, nil
}

// canonical makes a canonical key of the values of the named columns.
func canonical(parts, names []string, columns []row.Column) string {
	key := []byte{'['}
	for i, part := range parts {
		if i > 0 {
			key = append(key, ',')
		}
		kind := row.Null // Means unknown.
		if at := row.Index(columns, names[i]); at >= 0 {
			kind = columns[at].Kind
		}
		key = appendPart(key, part, kind)
	}
	return string(append(key, ']'))
}

// groupKey reads the values as the key of a group, because notices of a rule with group_by carry that key. groupKey
// returns the key of the group's first open finding, or the group's key where no finding of it is open. The key of a
// row may have as many values as the key of a group. Then an open finding with the row's key takes precedence, and
// groupKey returns false.
func groupKey(parts []string, r *rules.Rule, open []finding.State, columns []row.Column) (string, bool) {
	if len(r.GroupBy) == 0 || len(parts) != len(r.GroupBy) {
		return "", false
	}
	group, member := canonical(parts, r.GroupBy, columns), ""
	for i := range open {
		s := &open[i]
		if len(r.Key) == len(parts) && slices.Equal(plainParts(s.Key), unquoted(parts)) {
			return "", false
		}
		if s.Group != "" && (s.Group == group || slices.Equal(plainParts(s.Group), unquoted(parts))) && (member == "" || s.Key < member) {
			member = s.Key
		}
	}
	if member != "" {
		return member, true
	}
	return group, len(r.Key) != len(parts)
}

// isGroup tells whether a resolved key is the key of a group.
func isGroup(key string, r *rules.Rule) bool {
	return len(r.GroupBy) > 0 && len(plainParts(key)) == len(r.GroupBy) && len(r.GroupBy) != len(r.Key)
}

func keyForm(r *rules.Rule) string {
	if len(r.Key) == 0 {
		return "[] (the rule judges its result as a whole)"
	}
	form := fmt.Sprintf("[%s] (%s)", strings.Join(r.Key, ", "), counted(len(r.Key), "value"))
	if len(r.GroupBy) > 0 {
		form += fmt.Sprintf(", or [%s] for a group", strings.Join(r.GroupBy, ", "))
	}
	return form
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// arrayParts returns the elements of a JSON array, each in JSON.
func arrayParts(text string) ([]string, error) {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, &KeyError{fmt.Sprintf("the key is no JSON array: %v; values separated by commas will do as well", err)}
	}
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = string(p)
	}
	return parts, nil
}

// listParts splits values separated by commas. A value with a comma must stand in quotes.
func listParts(text string) ([]string, error) {
	if text == "" {
		return nil, &KeyError{"the key is empty: give the key of a notice, or the values of the rule's key"}
	}
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace, r.LazyQuotes = true, true
	parts, err := r.Read()
	if err != nil {
		return nil, &KeyError{fmt.Sprintf("the key is no list of values: %v", err)}
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts, nil
}

// appendPart appends a value in the form of a canonical key. part is JSON, or the bare text of a value.
func appendPart(dst []byte, part string, kind row.Kind) []byte {
	text, isText := unquote(part)
	if part == "null" {
		return append(dst, part...)
	}
	switch kind {
	case row.Text, row.Bytes:
		return row.TextOf(text).AppendKey(dst)
	case row.Time:
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return row.TimeOf(t).AppendKey(dst)
		}
	case row.Int, row.Decimal:
		if v, err := row.ParseDecimal(text); err == nil {
			return v.AppendKey(dst)
		}
	case row.Null: // The kind is unknown: a value without quotes counts as a number if it looks like one.
		if v, err := row.ParseDecimal(text); err == nil && !isText {
			return v.AppendKey(dst)
		}
	case row.JSON:
		if !json.Valid([]byte(part)) {
			part = string(row.TextOf(part).AppendKey(nil))
		}
		return row.JSONOf(part).AppendKey(dst)
	default: // Any other kind: part is taken as JSON if it is JSON.
	}
	if !isText && json.Valid([]byte(part)) {
		return append(dst, part...)
	}
	return row.TextOf(text).AppendKey(dst)
}

// unquote returns the text of a JSON string. unquote returns any other part unchanged.
func unquote(part string) (text string, isText bool) {
	if strings.HasPrefix(part, `"`) {
		if text, isText = row.KeyText(part); isText {
			return text, true
		}
	}
	return part, false
}

func unquoted(parts []string) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i], _ = unquote(p)
	}
	return out
}

// plainParts returns the values of a key as people write them, without JSON quotes.
func plainParts(key string) []string {
	parts, err := arrayParts(key)
	if err != nil {
		return []string{key}
	}
	return unquoted(parts)
}

// The bounds of similar keys.
const (
	mostAlike  = 5
	leastAlike = 0.5 // The smallest likeness.
)

// alike returns the open keys that are similar to the key, the most similar first.
func alike(key string, open []finding.State) []string {
	type near struct {
		key   string
		score float64
	}
	var list []near
	pairs := pairsOf(key)
	for i := range open {
		if score := likeness(pairs, pairsOf(open[i].Key)); score >= leastAlike {
			list = append(list, near{open[i].Key, score})
		}
	}
	slices.SortFunc(list, func(a, b near) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.key, b.key)) })
	var keys []string
	for _, n := range list[:min(mostAlike, len(list))] {
		keys = append(keys, n.key)
	}
	return keys
}

// pairsOf counts the pairs of neighbouring characters, with the ends of the text.
func pairsOf(key string) map[[2]rune]int {
	pairs := map[[2]rune]int{}
	last := ' '
	for _, c := range strings.ToLower(strings.Join(plainParts(key), " ")) + " " {
		pairs[[2]rune{last, c}]++
		last = c
	}
	return pairs
}

// likeness returns the share of the pairs that two texts have in common, from 0 to 1 (the Dice coefficient).
func likeness(a, b map[[2]rune]int) float64 {
	shared, all := 0, 0
	for pair, n := range a {
		shared += min(n, b[pair])
		all += n
	}
	for _, n := range b {
		all += n
	}
	return 2 * float64(shared) / float64(all)
}
