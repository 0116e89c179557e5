package strictjson

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The messages of faults that callers may want to tell apart.
const (
	Unexpected = "unexpected property"
	Repeated   = "the member is there twice"
)

// Error is what is wrong with a text, and where.
type Error struct {
	At      string // the place from the root on, as .notices[0].title; "" is the root
	Offset  int64  // in bytes from the start of the text
	Message string
	// Syntax tells that the text is no JSON that everybody reads in the same way. Otherwise it is the value that does not fit.
	Syntax bool
}

func (e *Error) Error() string {
	if at := strings.TrimPrefix(e.At, "."); at != "" {
		return at + ": " + e.Message
	}
	return e.Message
}

// Unmarshal decodes one value. Its errors are *Error; v may be partly written then. Members of maps are free, whatever their case, but do not come
// twice either.
func Unmarshal(text []byte, v any) error {
	return failure(text, json.Unmarshal(text, v, json.RejectUnknownMembers(true)))
}

// Check tells whether a text is one JSON value that everybody reads in the same way. Its errors are *Error.
func Check(text []byte) error {
	if jsontext.Value(text).IsValid() {
		return nil
	}
	var v jsontext.Value
	return failure(text, json.Unmarshal(text, &v))
}

// failure says what an error of the library means; nil is nil.
func failure(text []byte, err error) error {
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &Error{At: place(text, syntax.JSONPointer), Offset: syntax.ByteOffset, Message: SyntaxMessage(syntax), Syntax: true}
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return &Error{Message: err.Error()}
	}
	e := &Error{At: place(text, semantic.JSONPointer), Offset: semantic.ByteOffset, Message: Unexpected}
	switch {
	case errors.Is(semantic.Err, json.ErrUnknownName):
	case semantic.JSONKind != 0 && semantic.Err == nil:
		e.Message = "it cannot be " + kindName(semantic.JSONKind)
	case semantic.Err != nil:
		e.Message = semantic.Err.Error()
	default:
		e.Message = "the value does not fit"
	}
	return e
}

// SyntaxMessage says what is wrong in words; where, the place says.
func SyntaxMessage(e *jsontext.SyntacticError) string {
	switch {
	case errors.Is(e.Err, jsontext.ErrDuplicateName):
		return Repeated
	case e.Err == nil:
		return "this is no JSON"
	}
	return "this is no JSON: " + strings.TrimPrefix(e.Err.Error(), "jsontext: ") + " at byte " + strconv.FormatInt(e.ByteOffset, 10)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "true or false"
	case jsontext.KindString:
		return "a text"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginArray:
		return "a list"
	case jsontext.KindBeginObject:
		return "an object"
	default:
		return "this value"
	}
}

// place writes a pointer into a text as people read it: list indices in brackets.
func place(text []byte, to jsontext.Pointer) string {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var at []byte
	for token := range to.Tokens() {
		isList := dec.PeekKind() == jsontext.KindBeginArray
		at = AppendPlace(at, token, isList)
		descend(dec, token, isList)
	}
	return string(at)
}

// descend leaves the decoder before the value that the token leads to. Where there is none, nor are there deeper ones to read.
func descend(dec *jsontext.Decoder, token string, isList bool) {
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for i := 0; ; i++ {
		if isList {
			if strconv.Itoa(i) == token {
				return
			}
		} else if name, err := dec.ReadToken(); err != nil || name.Kind() != jsontext.KindString || name.String() == token {
			return
		}
		if dec.SkipValue() != nil {
			return
		}
	}
}

// AppendPlace adds a step to a place: a member by its name, or an index of a list.
func AppendPlace(at []byte, token string, isList bool) []byte {
	if isList {
		return append(append(append(at, '['), token...), ']')
	}
	return append(append(at, '.'), visible(token)...)
}

// visible keeps a member's name short and printable, since whoever sent it made it up.
func visible(name string) string {
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	return name
}
