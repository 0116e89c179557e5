package rules

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// PositionError says why a text cannot be a position of a watermark.
type PositionError struct {
	Text string
	Why  string
	Want string // The form that is expected.
}

// Error names the text, why it does not fit, and the expected form.
func (e *PositionError) Error() string { return fmt.Sprintf("%q %s; write %s", e.Text, e.Why, e.Want) }

// Position makes a watermark from texts: one for each column, or a single text with commas between the values. A
// duration counts back from now. The error is a *PositionError.
func (p *Program) Position(texts []string, now time.Time) ([]row.Value, error) {
	columns := p.rule.Probe.Watermark.Columns
	if len(texts) == 1 && len(columns) > 1 {
		texts = strings.Split(texts[0], ",")
	}
	if len(texts) != len(columns) {
		return nil, &PositionError{strings.Join(texts, ","), fmt.Sprintf("has %d values", len(texts)), "a value for each column of the watermark: " + strings.Join(columns, ",")}
	}
	values := make([]row.Value, len(columns))
	for i, text := range texts {
		kind := p.kinds[i]
		v, ok := positionOf(kind, text)
		if !ok {
			return nil, &PositionError{text, fmt.Sprintf("does not fit the column %s of kind %s", columns[i], kind), positionHint(kind)}
		}
		values[i] = v.at(now)
	}
	return values, nil
}

// positionOf reads a text as a value of the kind. It returns false where the text does not fit.
func positionOf(kind row.Kind, text string) (initialValue, bool) {
	switch kind {
	case row.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		return initialValue{value: row.IntOf(n)}, err == nil
	case row.Float:
		f, err := strconv.ParseFloat(text, 64)
		return initialValue{value: row.FloatOf(f)}, err == nil
	case row.Text:
		return initialValue{value: row.TextOf(text)}, !isDuration(text)
	default:
		return initialText(kind, text)
	}
}

func positionHint(k row.Kind) string {
	switch k {
	case row.Time, row.Date:
		return "a time, as 2026-06-01T00:00:00Z, or a duration before now, as -12h"
	case row.Text:
		return "a text as the column has it"
	default:
		return initialHint(k) + ", as 4711"
	}
}

// InitialText returns the rule's `initial` in one canonical form, so that two versions can be compared. It is "" for a
// rule without a watermark.
func (w *Watermark) InitialText() string {
	if w == nil {
		return ""
	}
	texts := map[string]string{}
	for _, name := range w.Columns {
		texts[name] = fmt.Sprint(w.Initial[name])
	}
	b, err := json.Marshal(texts)
	if err != nil { // texts always encode
		return ""
	}
	return string(b)
}

// LintInitial returns a warning where `initial` was changed after the watermark had begun, because the change has no
// effect. recorded is the InitialText with which the watermark began. An empty recorded means that this text is not
// known. position is the present watermark.
func LintInitial(r *Rule, recorded string, position []row.Value) problem.List {
	w := r.Probe.Watermark
	if w == nil || recorded == "" || recorded == w.InitialText() {
		return nil
	}
	var was map[string]string
	_ = json.Unmarshal([]byte(recorded), &was) // InitialText wrote it; if it cannot be read, the warning says less
	var began, at, to []string
	for i, name := range w.Columns {
		to = append(to, fmt.Sprint(w.Initial[name]))
		if value, known := was[name]; known {
			began = append(began, name+": "+value)
		}
		if i < len(position) {
			at = append(at, name+": "+position[i].String())
		}
	}
	where, option := "", ""
	if r.Scope != "" {
		where, option = " in "+r.Scope, " --scope "+r.Scope
	}
	text := "initial has no effect any more: the watermark" + where
	if len(began) > 0 {
		text += " began with {" + strings.Join(began, ", ") + "} and"
	}
	return problem.List{r.Problem("probe.watermark.initial", CodeInitial, text+" is at {"+strings.Join(at, ", ")+"}",
		fmt.Sprintf("move the watermark: tallyman rules rewind %s%s --to=%s --reason …; a rewind to the present position also ends this warning", r.ID, option, quoted(strings.Join(to, ","))))}
}

// quoted returns the text as one word of a command line.
func quoted(text string) string {
	if strings.ContainsAny(text, " '\"") {
		return strconv.Quote(text)
	}
	return text
}
