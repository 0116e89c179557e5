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

// PositionError says that a text is no position of a watermark.
type PositionError struct {
	Text string
	Why  string
	Want string // the form that is expected
}

// Error says it.
func (e *PositionError) Error() string { return fmt.Sprintf("%q %s; write %s", e.Text, e.Why, e.Want) }

// Position makes a watermark of texts, one for each of its columns, or one text with the values separated by commas. A duration counts back from now.
// present is the watermark as it is, nil where there is none: its kinds count for columns whose kind shows with the rows alone. The error is a *PositionError.
func (p *Program) Position(texts []string, present []row.Value, now time.Time) ([]row.Value, error) {
	columns := p.rule.Probe.Watermark.Columns
	if len(texts) == 1 && len(columns) > 1 {
		texts = strings.Split(texts[0], ",")
	}
	if len(texts) != len(columns) {
		return nil, &PositionError{strings.Join(texts, ","), fmt.Sprintf("has %d values", len(texts)), "a value for each column of the watermark: " + strings.Join(columns, ",")}
	}
	values := make([]row.Value, len(columns))
	for i, text := range texts {
		kind := p.watermarkKind(i, present)
		v, ok := positionOf(kind, text)
		if !ok {
			return nil, &PositionError{text, fmt.Sprintf("does not fit the column %s of kind %s", columns[i], kind), positionHint(kind)}
		}
		values[i] = v.at(now)
	}
	return values, nil
}

// watermarkKind is the kind of a column of the watermark.
func (p *Program) watermarkKind(i int, present []row.Value) row.Kind {
	switch {
	case p.kinds[i] != row.JSON:
		return p.kinds[i]
	case len(present) == len(p.kinds):
		return present[i].Kind()
	case p.initial[i].ago != nil:
		return row.Time
	}
	return p.initial[i].value.Kind()
}

// positionOf makes a value of the kind of a text.
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

// InitialText is what the rule says of `initial`, in one form for all ways to write it; "" where the rule has no watermark.
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

// LintInitial returns a warning about an `initial` that was changed after the watermark had begun: it has no effect. recorded is InitialText as it was then, ""
// where that is not known; position is the watermark.
func LintInitial(r *Rule, recorded string, position []row.Value) problem.List {
	w := r.Probe.Watermark
	if w == nil || recorded == "" || recorded == w.InitialText() {
		return nil
	}
	var was map[string]string
	_ = json.Unmarshal([]byte(recorded), &was) // InitialText has written it; without it the warning says less
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

// quoted is a word of a command line.
func quoted(text string) string {
	if strings.ContainsAny(text, " '\"") {
		return strconv.Quote(text)
	}
	return text
}
