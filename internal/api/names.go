package api

import (
	"strings"

	"tallyman/internal/item"
	"tallyman/internal/notice"
)

// MaxSubscriberID is the longest id of a user or role.
const MaxSubscriberID = 128

// IsName is what a warehouse or the code of a type may be: [A-Za-z0-9][A-Za-z0-9_.-]{0,63}.
func IsName(s string) bool { return notice.IsName(s) }

// IsSubscriber is user:<id> or role:<id>, id [A-Za-z0-9][A-Za-z0-9_.@-]{0,127}.
func IsSubscriber(s string) bool {
	id, ok := strings.CutPrefix(s, "user:")
	if !ok {
		id, ok = strings.CutPrefix(s, "role:")
	}
	return ok && isID(id)
}

// isID is [A-Za-z0-9][A-Za-z0-9_.@-]{0,127}.
func isID(s string) bool {
	if s == "" || len(s) > MaxSubscriberID || !isAlnum(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case isAlnum(c), c == '_', c == '.', c == '-', c == '@':
		default:
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// Names in the trace are words of this alphabet; its first characters do not begin one.
const (
	traceAlphabet = "_.:@-" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	traceMarks    = 5
)

// TraceName makes a name for the trace of any text.
func TraceName(subject string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(traceAlphabet, r) {
			return r
		}
		return '_'
	}, subject)
	name = strings.TrimLeft(name, traceAlphabet[:traceMarks])
	return name[:min(len(name), item.MaxName)]
}
