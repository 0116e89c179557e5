package send

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// noticeMaker makes the notices of a request.
type noticeMaker struct {
	who     *auth.Identity // The sender.
	key     string         // Key of the request, from which the ids of the notices are made.
	episode string         // Episode of all notices: a hash of the request.
	now     time.Time
	targets map[string]TargetKind
	// addresses is Sends.Addresses.
	addresses map[string]string
	types     catalog.Catalog
	bound     map[string]typeWords // By type.
	faults
}

// notices makes all notices, or returns all faults.
func (s *noticeMaker) notices(forms []wire.SendNoticeForm) ([]ledger.NewNotice, *wire.Problem) {
	list := make([]ledger.NewNotice, len(forms))
	recipients := 0
	for i := range forms {
		at := "body.notices[" + strconv.Itoa(i) + "]."
		list[i] = s.notice(at, &forms[i])
		recipients += len(forms[i].Recipients)
		list[i].Notice.ID = notice.ID("", s.who.Subject, s.key, strconv.Itoa(i), notice.Sent, 0)
	}
	s.beyond("body.", notice.CheckRequest(len(forms), recipients))
	return list, s.problem()
}

// beyond adds the faults of a notice that exceeds the limits.
func (s *noticeMaker) beyond(at string, found []notice.Fault) {
	for _, f := range found {
		s.add(wire.CodeInvalidBody, at+f.At, f.Message)
	}
}

// notice makes one notice, without its id.
func (s *noticeMaker) notice(at string, f *wire.SendNoticeForm) ledger.NewNotice {
	typ := s.typeOf(at, f)
	if !api.IsName(f.Warehouse) {
		s.add(wire.CodeBadWarehouse, at+"warehouse", api.BadWarehouse(0, "warehouse", f.Warehouse).Detail)
	}
	expires := s.expiry(at, f, typ)
	data, fields := s.data(at, f, typ)
	order, err := item.ParseServiceOrder(f.Order)
	if err != nil {
		s.add(wire.CodeInvalidBody, at+"order", err.Error())
	}
	n := &notice.Notice{
		Type: f.Type, TypeID: typ.ID, Warehouse: f.Warehouse, Episode: s.episode, Status: notice.Sent,
		Priority: cmp.Or(f.Priority, typ.Priority, notice.DefaultPriority), Order: order.String(), Modal: cmp.Or(f.Modal, typ.Modal, catalog.ModalSilent),
		Data: fields, Labels: typ.MergeLabels(s.labels(at, f)), Count: 1, CreatedAt: s.now, ExpiresAt: s.now.Add(expires),
	}
	s.words(at, n, f, typ, data)
	if typ.Code != "" { // Without a type, the fields and the lifetime are unknown.
		s.beyond(at, notice.CheckSent(n))
	}
	return ledger.NewNotice{Notice: n, Sinks: s.deliver(at, f, typ, expires)}
}

// typeOf finds the type in the catalogue.
func (s *noticeMaker) typeOf(at string, f *wire.SendNoticeForm) *catalog.Type {
	if f.TypeID != 0 {
		code := s.types.Code(strconv.FormatInt(f.TypeID, 10))
		if f.Type != "" && s.types.Code(f.Type) != code {
			s.add(wire.CodeInvalidBody, at+"typeId", "type and typeId are of different types: leave one of them out")
		}
		f.Type = code
	}
	f.Type = s.types.Code(f.Type)
	typ, ok := s.types[f.Type]
	switch {
	case f.Type == "":
		s.add(wire.CodeInvalidBody, at+"type", "type or typeId is needed")
	case catalog.Reserved(f.Type):
		s.add(wire.CodeTypeReserved, at+"type", f.Type+" is built in: only Tallyman sends notices of this type")
	case !ok:
		s.add(wire.CodeUnknownType, at+"type", "the catalogue has no type "+policy.Quote(f.Type))
	}
	return &typ
}

// expiry returns the lifetime of the notice, from its creation until it expires.
func (s *noticeMaker) expiry(at string, f *wire.SendNoticeForm, typ *catalog.Type) time.Duration {
	if f.Expires == "" {
		return typ.Retention
	}
	d, err := strictyaml.ParseDuration(f.Expires)
	if err != nil {
		s.add(wire.CodeInvalidBody, at+"expires", err.Error())
		return typ.Retention
	}
	return d
}

// labels returns the labels of the notice.
func (s *noticeMaker) labels(at string, f *wire.SendNoticeForm) map[string]string {
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		s.checkText(at+"labels."+clip(name), f.Labels[name], policy.Line)
	}
	return f.Labels
}

// checkText checks a text against the policy of texts once more, so that this code does not depend on the check of the
// body.
func (s *noticeMaker) checkText(at, words string, shape policy.Shape) {
	if fault := policy.Check(words, shape); fault != nil {
		s.add(wire.CodeBadText, at, fault.Error())
	}
}

// bodyOf writes the data as a text with a line for each field. The text is the body of a notice without a body of its
// own.
func bodyOf(data []notice.Field) string {
	var b strings.Builder
	for _, f := range data {
		value := ""
		switch v := f.Value.(type) {
		case string:
			value = v
		case int64:
			value = strconv.FormatInt(v, 10)
		case bool:
			value = strconv.FormatBool(v)
		}
		b.WriteString(strings.TrimRight(f.Name+": "+value, " ") + "\n")
	}
	return strings.TrimSpace(b.String())
}

// clip shortens a text of the client for the location of a fault.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// maxDecimal bounds the digits of a decimal.
const maxDecimal = 1000 // Digits before the point, and digits after it.

// data parses the typed fields, for the templates of the type and for the notice. If the notice has words and no data,
// required fields may be missing.
func (s *noticeMaker) data(at string, f *wire.SendNoticeForm, typ *catalog.Type) (*row.Row, []notice.Field) {
	data := row.New(typ.Columns())
	speaks := len(typ.Title) == 0 || f.Title != "" || f.Body != "" || len(f.Texts) > 0 // The notice has words without data.
	if len(f.Data) == 0 && speaks || typ.Code == "" {                                  // A missing type is a fault of its own.
		return data, nil
	}
	at += "data"
	for _, name := range slices.Sorted(maps.Keys(f.Data)) {
		if _, ok := typ.Fields[name]; !ok {
			s.add(wire.CodeInvalidBody, at+"."+clip(name), noField(name, typ))
		}
	}
	var out []notice.Field
	for i, name := range typ.FieldNames() {
		field := typ.Fields[name]
		raw, given := f.Data[name]
		isNull := given && bytes.Equal(raw, []byte("null"))
		switch {
		case field.Required && (!given || isNull):
			s.add(wire.CodeInvalidBody, at+"."+name, "type "+typ.Code+" needs this field")
		case isNull:
			out = append(out, notice.Field{Name: name})
		case given:
			value, fault := fieldValue(field.Type, raw)
			if fault != "" {
				s.add(wire.CodeInvalidBody, at+"."+name, fault)
			}
			if field.Type == catalog.String {
				s.checkText(at+"."+name, value.String(), policy.Lines)
			}
			data.Values[i] = value
			out = append(out, notice.Field{Name: name, Value: value.Data()})
		}
	}
	return data, out
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

// fieldValue converts a value that is not null to a value of the notice, or returns why it does not fit.
func fieldValue(kind catalog.FieldKind, raw json.RawMessage) (value row.Value, fault string) {
	var text string
	isText := json.Unmarshal(raw, &text) == nil
	switch kind {
	case catalog.String:
		if !isText {
			return value, "the value must be a text in quotes"
		}
		return row.TextOf(text), ""
	case catalog.Bool:
		var b bool
		if json.Unmarshal(raw, &b) != nil {
			return value, "the value must be true or false"
		}
		return row.BoolOf(b), ""
	case catalog.Int:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return value, "the value must be a whole number from " + strconv.FormatInt(math.MinInt64, 10) + " to " + strconv.FormatInt(math.MaxInt64, 10)
		}
		return row.IntOf(n), ""
	case catalog.Decimal:
		if !isText {
			text = string(raw)
		}
		return decimalValue(text)
	case catalog.Time:
		t, err := time.Parse(time.RFC3339Nano, text)
		if !isText || err != nil {
			return value, "the value must be a time in RFC 3339, such as 2026-06-01T08:00:00+08:00"
		}
		return row.TimeOf(t), ""
	}
	return value, "the type of the field is not known here"
}

// decimalValue writes a decimal exactly, without an exponent.
func decimalValue(text string) (value row.Value, fault string) {
	const wanted = "the value must be a decimal, as a number or a text such as \"12.50\""
	v, err := row.ParseDecimal(text)
	if err != nil {
		return value, wanted
	}
	d := v.Apd(new(apd.Decimal))
	if d.Form != apd.Finite {
		return value, wanted
	}
	if digits := d.NumDigits(); digits > maxDecimal || d.Exponent > maxDecimal || d.Exponent < -maxDecimal {
		return value, "the value can have at most " + strconv.Itoa(maxDecimal) + " digits before the point, and as many after it"
	}
	return v, ""
}
