package body

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/go-json-experiment/json/jsontext"

	"tallyman/internal/strictjson"
	"tallyman/internal/text"
)

// MostFaults is the maximum number of faults that are collected for a body.
const MostFaults = 100

// Fault is a fault of a body and its place.
type Fault struct {
	At      string // Such as body.notices[0].title.
	Message string
	// Text says that a text violates the policy of texts.
	Text bool
	// Syntax says that the body is not JSON, or is JSON that different readers would read differently. A syntax fault
	// is the only fault of its body.
	Syntax bool
}

// Check returns the faults of a body in the order of the text, at most MostFaults. Check reads the body once and keeps
// no part of it. Check stops at a list or an object with more elements than allowed. So a hostile body costs no more
// than a valid body of the same size.
func (s *Schema) Check(src []byte) []Fault {
	_, faults := s.Read(src)
	return faults
}

// Read does the same as Check, and also returns the body. In the returned body, each number that stands for a text has
// quotes.
func (s *Schema) Read(src []byte) ([]byte, []Fault) {
	c := checker{dec: jsontext.NewDecoder(bytes.NewBuffer(src))}
	err := c.value(s)
	if err == nil {
		err = c.end()
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return nil, []Fault{{At: c.at(syntax.JSONPointer), Message: strictjson.SyntaxMessage(syntax), Syntax: true}}
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, []Fault{{At: "body", Message: "the body is not JSON: " + err.Error(), Syntax: true}}
	}
	return c.quoted(src), c.faults
}

// quoted returns the body with quotes around the numbers that stand for texts.
func (c *checker) quoted(src []byte) []byte {
	if len(c.digits) == 0 {
		return src
	}
	out := make([]byte, 0, len(src)+2*len(c.digits))
	at := 0
	for _, n := range c.digits {
		out = append(append(out, src[at:n.from]...), '"')
		out = append(append(out, src[n.from:n.to]...), '"')
		at = n.to
	}
	return append(out, src[at:]...)
}

// errEnough stops the check. The faults are already in the checker.
var errEnough = errors.New("enough faults")

// checker reads a body.
type checker struct {
	dec     *jsontext.Decoder
	faults  []Fault
	digits  []span // The numbers that stand for texts.
	scratch []byte
}

// span is a range of bytes in the body.
type span struct{ from, to int }

// at converts a pointer to a place such as body.notices[0].title. The decoder must be inside the value of the pointer,
// because only the decoder knows which parts are lists.
func (c *checker) at(to jsontext.Pointer) string {
	at, depth := []byte("body"), 0
	for token := range to.Tokens() {
		depth++
		isList := false
		if depth <= c.dec.StackDepth() {
			kind, _ := c.dec.StackIndex(depth)
			isList = kind == jsontext.KindBeginArray
		}
		at = strictjson.AppendPlace(at, token, isList)
	}
	return string(at)
}

// fault adds a fault of the last value or member name that was read.
func (c *checker) fault(message string) error {
	c.faults = append(c.faults, Fault{At: c.at(c.dec.StackPointer()), Message: message})
	if len(c.faults) == MostFaults {
		return errEnough
	}
	return nil
}

// end checks that nothing follows the value.
func (c *checker) end() error {
	_, err := c.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	c.faults = []Fault{{At: "body", Message: "the body is not JSON: something follows the value", Syntax: true}}
	return errEnough
}

// value checks the next value.
func (c *checker) value(s *Schema) error {
	kind := c.dec.PeekKind()
	if s.kind == "" || kind == jsontext.KindInvalid {
		return c.free()
	}
	if kind == jsontext.KindNull && s.nullable {
		return c.dec.SkipValue()
	}
	switch {
	case kind == jsontext.KindBeginObject && s.kind == huma.TypeObject:
		return c.object(s)
	case kind == jsontext.KindBeginArray && s.kind == huma.TypeArray:
		return c.array(s)
	case kind == jsontext.KindString && s.kind == huma.TypeString:
		return c.text(s)
	case kind == jsontext.KindNumber && (s.kind == huma.TypeInteger || s.kind == huma.TypeNumber):
		return c.number(s)
	case kind == jsontext.KindNumber && s.digits != "" && s.kind == huma.TypeString:
		return c.numeral(s.digits)
	case (kind == jsontext.KindTrue || kind == jsontext.KindFalse) && s.kind == huma.TypeBoolean:
		return c.dec.SkipValue()
	}
	if err := c.free(); err != nil {
		return err
	}
	return c.fault(map[string]string{
		huma.TypeObject: validation.MsgExpectedObject, huma.TypeArray: validation.MsgExpectedArray, huma.TypeString: validation.MsgExpectedString,
		huma.TypeInteger: validation.MsgExpectedInteger, huma.TypeNumber: validation.MsgExpectedNumber, huma.TypeBoolean: validation.MsgExpectedBoolean,
	}[s.kind])
}

// object checks an object. Names of members must match exactly.
func (c *checker) object(s *Schema) error {
	if _, err := c.dec.ReadToken(); err != nil {
		return err
	}
	var seen uint64
	n := 0
	for c.dec.PeekKind() != jsontext.KindEndObject {
		name, err := c.string()
		if err != nil {
			return err
		}
		if n++; s.most >= 0 && n > s.most {
			return c.tooMany(fmt.Sprintf(validation.MsgExpectedMaxProperties, s.most))
		}
		if err := c.checkText(name, text.Line); err != nil {
			return err
		}
		m, known := s.members[string(name)]
		seen |= m.bit
		switch {
		case known && c.dec.PeekKind() == jsontext.KindNull && s.required&m.bit == 0: // A null counts as a missing member.
			err = c.dec.SkipValue()
		case known:
			err = c.value(m.schema)
		case s.others != nil:
			err = c.value(s.others)
		default:
			if err = c.fault(unexpected(name, s)); err == nil {
				err = c.free()
			}
		}
		if err != nil {
			return err
		}
	}
	if _, err := c.dec.ReadToken(); err != nil {
		return err
	}
	for absent := s.required &^ seen; absent != 0; absent &= absent - 1 {
		if err := c.fault(missing(s.names[bits.TrailingZeros64(absent)])); err != nil {
			return err
		}
	}
	if n < s.least {
		return c.fault(fmt.Sprintf(validation.MsgExpectedMinProperties, s.least))
	}
	return nil
}

// unexpected returns the message for an unknown member. If only the case of the name is wrong, the message shows the
// right name.
func unexpected(name []byte, s *Schema) string {
	for known := range s.members {
		if strings.EqualFold(known, string(name)) {
			return strictjson.Unexpected + ": names match exactly, this one is " + known
		}
	}
	return strictjson.Unexpected
}

// tooMany adds the fault of the object or array that the decoder is in. The check stops there.
func (c *checker) tooMany(message string) error {
	at := c.dec.StackPointer().Parent()
	c.faults = append(c.faults, Fault{At: c.at(at), Message: message})
	return errEnough
}

func (c *checker) array(s *Schema) error {
	if _, err := c.dec.ReadToken(); err != nil {
		return err
	}
	n := 0
	for c.dec.PeekKind() != jsontext.KindEndArray {
		if err := c.value(s.element); err != nil {
			return err
		}
		if n++; s.most >= 0 && n > s.most {
			return c.tooMany(fmt.Sprintf(validation.MsgExpectedMaxItems, s.most))
		}
	}
	if _, err := c.dec.ReadToken(); err != nil {
		return err
	}
	if n < s.least {
		return c.fault(fmt.Sprintf(validation.MsgExpectedMinItems, s.least))
	}
	return nil
}

// text checks a text against its schema.
func (c *checker) text(s *Schema) error {
	words, err := c.string()
	if err != nil {
		return err
	}
	if text.CheckBytes(words, s.shape) != nil {
		return c.checkText(words, s.shape)
	}
	length := utf8.RuneCount(words)
	var fault string
	switch {
	case length < s.shortest:
		fault = fmt.Sprintf(validation.MsgExpectedMinLength, s.shortest)
	case s.longest >= 0 && length > s.longest:
		fault = fmt.Sprintf(validation.MsgExpectedMaxLength, s.longest)
	case s.pattern != nil && !s.pattern.Match(words):
		fault = fmt.Sprintf(validation.MsgExpectedMatchPattern, s.pattern)
	case s.isTime && !isTime(words):
		fault = validation.MsgExpectedRFC3339DateTime
	case s.enum != nil && !slices.Contains(s.enum, string(words)):
		fault = fmt.Sprintf(validation.MsgExpectedOneOf, strings.Join(s.enum, ", "))
	default:
		return nil
	}
	return c.fault(fault)
}

// checkText checks the last text or member name that was read against the policy of texts.
func (c *checker) checkText(words []byte, shape text.Shape) error {
	fault := text.CheckBytes(words, shape)
	if fault == nil {
		return nil
	}
	err := c.fault(fault.Error())
	c.faults[len(c.faults)-1].Text = true
	return err
}

// isTime tells whether a text can be decoded as a time.
func isTime(words []byte) bool {
	return new(time.Time).UnmarshalText(words) == nil
}

// number checks a number. A whole number must be written without point and exponent, and fit into 64 bits.
func (c *checker) number(s *Schema) error {
	raw, err := c.dec.ReadValue()
	if err != nil {
		return err
	}
	var n float64
	if s.kind == huma.TypeInteger {
		whole, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			return c.fault(validation.MsgExpectedInteger)
		}
		n = float64(whole)
	} else if n, err = strconv.ParseFloat(string(raw), 64); err != nil {
		return c.fault(validation.MsgExpectedNumber)
	}
	switch {
	case s.minimum != nil && n < *s.minimum:
		return c.fault(fmt.Sprintf(validation.MsgExpectedMinimumNumber, *s.minimum))
	case s.maximum != nil && n > *s.maximum:
		return c.fault(fmt.Sprintf(validation.MsgExpectedMaximumNumber, *s.maximum))
	}
	return nil
}

// signs has the characters that a number must not contain in order to stand for a text, by the tag of the text.
var signs = map[string]string{digitsOfName: "-+.eE", digitsOfDecimal: "+eE"}

// numeral accepts a number that stands for a text. A number for a name may only have digits, so that a name has only
// one spelling.
func (c *checker) numeral(digits string) error {
	raw, err := c.dec.ReadValue()
	if err != nil {
		return err
	}
	if bytes.ContainsAny(raw, signs[digits]) {
		return c.fault(validation.MsgExpectedString)
	}
	end := int(c.dec.InputOffset())
	c.digits = append(c.digits, span{end - len(raw), end})
	return nil
}

// free reads a value of any kind.
func (c *checker) free() error {
	depth := c.dec.StackDepth()
	for {
		var err error
		if c.dec.PeekKind() == jsontext.KindString {
			shape := text.Lines
			if kind, n := c.dec.StackIndex(c.dec.StackDepth()); kind == jsontext.KindBeginObject && n%2 == 0 {
				shape = text.Line // The text is the name of a member.
			}
			var words []byte
			if words, err = c.string(); err == nil {
				err = c.checkText(words, shape)
			}
		} else {
			_, err = c.dec.ReadToken()
		}
		if err != nil || c.dec.StackDepth() == depth {
			return err
		}
	}
}

// string reads a text or the name of a member. All texts pass through this method, and its decoder refuses texts that
// are not valid UTF-8. The returned bytes are valid until the next call.
func (c *checker) string() ([]byte, error) {
	raw, err := c.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	c.scratch, err = jsontext.AppendUnquote(c.scratch[:0], raw)
	return c.scratch, err
}
