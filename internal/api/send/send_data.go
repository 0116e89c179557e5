package send

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"tallyman/internal/notice"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// maxDecimal bounds a decimal.
const maxDecimal = 1000 // digits before the point, and after it

// data reads the typed fields. Where there are none, and the notice says something in words, none is missing.
func (s *sending) data(at string, f *wire.SendNoticeForm, typ *catalog.Type) []notice.Field {
	if len(f.Data) == 0 || typ.Code == "" { // that there is no such type is another fault
		return nil
	}
	at += "data"
	for _, name := range slices.Sorted(maps.Keys(f.Data)) {
		if _, ok := typ.Fields[name]; !ok {
			s.add(wire.CodeInvalidBody, at+"."+clip(name), noField(name, typ))
		}
	}
	var out []notice.Field
	for _, name := range typ.FieldNames() {
		field := typ.Fields[name]
		raw, given := f.Data[name]
		isNull := given && bytes.Equal(raw, []byte("null"))
		switch {
		case field.Required && (!given || isNull):
			s.add(wire.CodeInvalidBody, at+"."+name, typ.Code+" needs it")
		case isNull:
			out = append(out, notice.Field{Name: name})
		case given:
			value, fault := fieldValue(field.Type, raw)
			if fault != "" {
				s.add(wire.CodeInvalidBody, at+"."+name, fault)
			}
			if text, ok := value.(string); ok {
				s.checkText(at+"."+name, text, policy.Lines)
			}
			out = append(out, notice.Field{Name: name, Value: value})
		}
	}
	return out
}

func noField(name string, typ *catalog.Type) string {
	if len(typ.Fields) == 0 {
		return typ.Code + " has no fields"
	}
	message := typ.Code + " has no field " + policy.Quote(name)
	if hint := problem.DidYouMean(name, typ.FieldNames()); hint != "" {
		return message + "; " + hint
	}
	return message + "; it has " + strings.Join(typ.FieldNames(), ", ")
}

// fieldValue reads a value that is not null as a notice carries it, or says why it does not fit.
func fieldValue(kind catalog.FieldKind, raw json.RawMessage) (value any, fault string) {
	var text string
	isText := json.Unmarshal(raw, &text) == nil
	switch kind {
	case catalog.String:
		if !isText {
			return nil, "it takes a text in quotes"
		}
		return text, ""
	case catalog.Bool:
		var b bool
		if json.Unmarshal(raw, &b) != nil {
			return nil, "it takes true or false"
		}
		return b, ""
	case catalog.Int:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return nil, "it takes a whole number from " + strconv.FormatInt(math.MinInt64, 10) + " to " + strconv.FormatInt(math.MaxInt64, 10)
		}
		return n, ""
	case catalog.Decimal:
		if !isText {
			text = string(raw)
		}
		return decimalValue(text)
	case catalog.Time:
		t, err := time.Parse(time.RFC3339Nano, text)
		if !isText || err != nil {
			return nil, "it takes a time in RFC 3339, such as 2026-06-01T08:00:00+08:00"
		}
		return row.TimeOf(t).String(), ""
	}
	return nil, "the type of the field is not known here"
}

// decimalValue writes a decimal as it was given, without an exponent.
func decimalValue(text string) (value any, fault string) {
	const wanted = "it takes a decimal, as a number or a text such as \"12.50\""
	v, err := row.ParseDecimal(text)
	if err != nil {
		return nil, wanted
	}
	d := v.Apd(new(apd.Decimal))
	if d.Form != apd.Finite {
		return nil, wanted
	}
	if digits := d.NumDigits(); digits > maxDecimal || d.Exponent > maxDecimal || d.Exponent < -maxDecimal {
		return nil, "it takes at most " + strconv.Itoa(maxDecimal) + " digits before the point and after it"
	}
	return v.String(), ""
}
