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

// Messages of faults that callers may want to distinguish.
const (
	Unexpected = "unexpected property"
	Repeated   = "the member occurs twice"
)

// Error says what is wrong with a text, and where.
type Error struct {
	At      string // The place from the root, such as .notices[0].title. Empty means the root.
	Offset  int64  // In bytes from the start of the text.
	Message string
	// Syntax tells that the text is not JSON, or that readers could read it in different ways. Otherwise the text is
	// fine, and its value does not fit the type.
	Syntax bool
}

func (e *Error) Error() string {
	if at := strings.TrimPrefix(e.At, "."); at != "" {
		return at + ": " + e.Message
	}
	return e.Message
}

// Unmarshal decodes one value into v. Its errors are *Error; v may be partly filled then. A map takes any names of
// members, but no name twice.
func Unmarshal(text []byte, v any) error {
	return failure(text, json.Unmarshal(text, v, json.RejectUnknownMembers(true)))
}

// Check returns an *Error where the text is not a single JSON value that every reader reads in the same way.
func Check(text []byte) error {
	if jsontext.Value(text).IsValid() {
		return nil
	}
	var v jsontext.Value
	return failure(text, json.Unmarshal(text, &v))
}

// failure translates an error of the library into an *Error. It returns nil for nil.
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
		e.Message = "the value must not be " + kindName(semantic.JSONKind)
	case semantic.Err != nil:
		e.Message = semantic.Err.Error()
	default:
		e.Message = "the value does not fit"
	}
	return e
}

// SyntaxMessage describes a syntax error without its place.
func SyntaxMessage(e *jsontext.SyntacticError) string {
	switch {
	case errors.Is(e.Err, jsontext.ErrDuplicateName):
		return Repeated
	case e.Err == nil:
		return "the text is not valid JSON"
	}
	return "the text is not valid JSON: " + strings.TrimPrefix(e.Err.Error(), "jsontext: ") + " at byte " + strconv.FormatInt(e.ByteOffset, 10)
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

// place converts a JSON pointer to a path such as .notices[0].title. It reads the text, because a pointer does not show
// whether a number is the index of a list or the name of a member.
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

// descend moves the decoder to the value that the token names. Where there is no such value, the rest of the pointer
// names nothing either.
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

// AppendPlace appends a step to a path: the name of a member, or the index of a list.
func AppendPlace(at []byte, token string, isList bool) []byte {
	if isList {
		return append(append(append(at, '['), token...), ']')
	}
	return append(append(at, '.'), visible(token)...)
}

// visible keeps the name of a member short and printable, because a client may send any name.
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
