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

// MostFaults is how many faults of a body are told.
const MostFaults = 100

// Fault is something that is wrong with a body, and where.
type Fault struct {
	At      string // such as body.notices[0].title
	Message string
	// Text tells that a text has what no text may have.
	Text bool
	// Syntax tells that the body is no JSON that everybody reads in the same way; then it is the only fault.
	Syntax bool
}

// Check returns what is wrong with a body: at most MostFaults, the first ones in the order of the text. It reads the body once, keeps nothing of
// it, and ends at a list or an object with more elements than it may have, so that a hostile body costs no more than a good one of its size.
func (s *Schema) Check(src []byte) []Fault {
	_, faults := s.Read(src)
	return faults
}

// Read is Check. It returns the body, in which each number that stands for a name is a text.
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
		return nil, []Fault{{At: "body", Message: "this is no JSON: " + err.Error(), Syntax: true}}
	}
	return c.quoted(src), c.faults
}

// quoted is the body with quotes around the numbers that stand for names.
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

// errEnough ends a check whose faults are told already.
var errEnough = errors.New("enough faults")

// checker goes through a body.
type checker struct {
	dec     *jsontext.Decoder
	faults  []Fault
	digits  []span // of numbers that stand for names
	scratch []byte
}

// span is a part of the body.
type span struct{ from, to int }

// at writes a pointer as people read it. The decoder is in the midst of what it leads to.
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

// fault adds a fault of the value, or member name, that was read last.
func (c *checker) fault(message string) error {
	c.faults = append(c.faults, Fault{At: c.at(c.dec.StackPointer()), Message: message})
	if len(c.faults) == MostFaults {
		return errEnough
	}
	return nil
}

// end looks that nothing follows the value.
func (c *checker) end() error {
	_, err := c.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	c.faults = []Fault{{At: "body", Message: "this is no JSON: something follows the value", Syntax: true}}
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

// object checks an object: its members by name, exactly as they are written.
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
		case known && c.dec.PeekKind() == jsontext.KindNull && s.required&m.bit == 0: // as if it were left out
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

// unexpected tells of a member that there is none. Who has only the case wrong is shown how it is written.
func unexpected(name []byte, s *Schema) string {
	for known := range s.members {
		if strings.EqualFold(known, string(name)) {
			return strictjson.Unexpected + ": names match exactly, this one is " + known
		}
	}
	return strictjson.Unexpected
}

// tooMany is the fault of the object or array that the decoder is in. What follows is not looked at.
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

// text checks a text that the schema is about.
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

// checkText holds a text, or the name of a member, that was read last to the policy of texts.
func (c *checker) checkText(words []byte, shape text.Shape) error {
	fault := text.CheckBytes(words, shape)
	if fault == nil {
		return nil
	}
	err := c.fault(fault.Error())
	c.faults[len(c.faults)-1].Text = true
	return err
}

// isTime tells whether a text is a moment, as it will be decoded.
func isTime(words []byte) bool {
	return new(time.Time).UnmarshalText(words) == nil
}

// number checks a number. A whole one is one that is written so, in 64 bits.
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

// signs of numbers that do not stand for a text, by the tag of it.
var signs = map[string]string{digitsOfName: "-+.eE", digitsOfDecimal: "+eE"}

// numeral takes a number that stands for a text: of a name digits alone, so that everybody writes the name in the same way.
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

// free goes through a value that may be anything.
func (c *checker) free() error {
	depth := c.dec.StackDepth()
	for {
		var err error
		if c.dec.PeekKind() == jsontext.KindString {
			shape := text.Lines
			if kind, n := c.dec.StackIndex(c.dec.StackDepth()); kind == jsontext.KindBeginObject && n%2 == 0 {
				shape = text.Line // the name of a member
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

// string reads a text or the name of a member, and is the one way by which all of them pass. It is valid UTF-8; what it returns is good
// until the next call.
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
