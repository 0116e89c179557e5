package notice

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"tallyman/internal/notice/internal/tallymanv1"
)

// ErrMalformed says that bytes are not a notice.
var ErrMalformed = errors.New("notice: malformed")

// recipientsField is the number of Notice.recipients in notice.proto.
const recipientsField protowire.Number = 20

// Marshal encodes the notice as a protobuf tallyman.v1.Notice. The same notice always gives the same bytes. Invalid
// UTF-8 becomes U+FFFD, because a source may have such texts and the notice must be sent anyway.
func Marshal(n *Notice) ([]byte, error) {
	return MarshalFor(n, nil)
}

// MarshalFor encodes the notice together with the subscribers whose inboxes have it.
func MarshalFor(n *Notice, recipients []string) ([]byte, error) {
	m, err := toProto(n)
	if err != nil {
		return nil, err
	}
	m.Recipients = recipients
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("notice %s: encode: %w", n.ID, err)
	}
	return data, nil
}

// Unmarshal is the reverse of Marshal. The error is an ErrMalformed.
func Unmarshal(data []byte) (*Notice, error) {
	var m tallymanv1.Notice
	if err := proto.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if m.GetId() == "" {
		return nil, fmt.Errorf("%w: no id", ErrMalformed)
	}
	return fromProto(&m), nil
}

// Recipients returns the subscribers that MarshalFor added, without decoding the rest.
func Recipients(data []byte) ([]string, error) {
	var out []string
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(n))
		}
		data = data[n:]
		if num == recipientsField && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(data)
			if n < 0 {
				return nil, fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(n))
			}
			out = append(out, string(v))
			data = data[n:]
			continue
		}
		n = protowire.ConsumeFieldValue(num, typ, data)
		if n < 0 {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, protowire.ParseError(n))
		}
		data = data[n:]
	}
	return out, nil
}

func toProto(n *Notice) (*tallymanv1.Notice, error) {
	m := &tallymanv1.Notice{
		Id: valid(n.ID), Type: valid(n.Type), TypeId: n.TypeID, Warehouse: valid(n.Warehouse),
		Rule: valid(n.Rule), Scope: valid(n.Scope), Key: valid(n.Key), Episode: valid(n.Episode),
		Status: valid(string(n.Status)), Priority: int32(n.Priority), Modal: valid(n.Modal), //nolint:gosec // 1 … 5
		Title: valid(n.Title), Body: valid(n.Body), Order: valid(n.Order),
		Count:     int32(min(n.Count, 1<<31-1)), //nolint:gosec // bounded in the same expression
		CreatedAt: n.CreatedAt.UnixMicro(), ExpiresAt: n.ExpiresAt.UnixMicro(),
	}
	if len(n.Texts) > 0 {
		m.Texts = make(map[string]*tallymanv1.Text, len(n.Texts))
		for lang, t := range n.Texts {
			m.Texts[valid(lang)] = &tallymanv1.Text{Title: valid(t.Title), Body: valid(t.Body)}
		}
	}
	if len(n.Labels) > 0 {
		m.Labels = make(map[string]string, len(n.Labels))
		for k, v := range n.Labels {
			m.Labels[valid(k)] = valid(v)
		}
	}
	for _, f := range n.Data {
		p := &tallymanv1.Field{Name: valid(f.Name)}
		switch v := f.Value.(type) {
		case nil:
		case string:
			p.Value = &tallymanv1.Field_Text{Text: valid(v)}
		case int64:
			p.Value = &tallymanv1.Field_Integer{Integer: v}
		case bool:
			p.Value = &tallymanv1.Field_Boolean{Boolean: v}
		default:
			return nil, fmt.Errorf("notice %s: field %s: a %T is no field value", n.ID, f.Name, f.Value)
		}
		m.Data = append(m.Data, p)
	}
	return m, nil
}

func fromProto(m *tallymanv1.Notice) *Notice {
	n := &Notice{
		ID: m.GetId(), Type: m.GetType(), TypeID: m.GetTypeId(), Warehouse: m.GetWarehouse(),
		Rule: m.GetRule(), Scope: m.GetScope(), Key: m.GetKey(), Episode: m.GetEpisode(),
		Status: Status(m.GetStatus()), Priority: int(m.GetPriority()), Order: m.GetOrder(), Modal: m.GetModal(),
		Title: m.GetTitle(), Body: m.GetBody(), Labels: m.GetLabels(), Count: int(m.GetCount()),
		CreatedAt: time.UnixMicro(m.GetCreatedAt()).UTC(), ExpiresAt: time.UnixMicro(m.GetExpiresAt()).UTC(),
	}
	if len(m.GetTexts()) > 0 {
		n.Texts = make(map[string]Text, len(m.GetTexts()))
		for lang, t := range m.GetTexts() {
			n.Texts[lang] = Text{Title: t.GetTitle(), Body: t.GetBody()}
		}
	}
	for _, p := range m.GetData() {
		f := Field{Name: p.GetName()}
		switch v := p.GetValue().(type) {
		case *tallymanv1.Field_Text:
			f.Value = v.Text
		case *tallymanv1.Field_Integer:
			f.Value = v.Integer
		case *tallymanv1.Field_Boolean:
			f.Value = v.Boolean
		}
		n.Data = append(n.Data, f)
	}
	return n
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
