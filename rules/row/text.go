package row

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"
)

// String returns the value as people read it, for templates and messages: decimals exactly as they
// are, times as RFC 3339 in UTC, dates as 2006-01-02, bytes in hex, NULL as "". It is always valid UTF-8.
func (v Value) String() string {
	switch v.kind {
	case Text, JSON:
		return strings.ToValidUTF8(v.str, "\uFFFD")
	case Bool:
		return strconv.FormatBool(v.Bool())
	default:
		var buf [48]byte
		return string(v.appendText(buf[:0]))
	}
}

// appendText is String for the kinds whose text is ASCII.
func (v Value) appendText(dst []byte) []byte {
	switch v.kind {
	case Int:
		return strconv.AppendInt(dst, v.num, 10)
	case Float:
		return appendFloat(dst, v.flt)
	case Decimal:
		return v.appendDecimal(dst)
	case Bytes:
		return hex.AppendEncode(dst, []byte(v.str))
	case Time:
		return v.Time().AppendFormat(dst, time.RFC3339Nano)
	case Date:
		return v.Time().AppendFormat(dst, time.DateOnly)
	case Duration:
		return append(dst, v.Duration().String()...)
	default:
		return dst
	}
}

// appendFloat writes the shortest text that reads back as f, in plain digits while that stays short.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case f == 0:
		return append(dst, '0') // not -0
	case math.IsInf(f, 0):
		return appendBig(dst, &apd.Decimal{Form: apd.Infinite, Negative: f < 0})
	}
	if abs := max(f, -f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

func (v Value) appendDecimal(dst []byte) []byte {
	if v.big != nil {
		return appendBig(dst, v.big)
	}
	if v.scale == 0 {
		return strconv.AppendInt(dst, v.num, 10)
	}
	if v.num < 0 {
		dst = append(dst, '-')
	}
	var buf [20]byte
	return appendPoint(dst, strconv.AppendUint(buf[:0], magnitude(v.num), 10), int(v.scale))
}

// appendPoint writes digits with scale of them after the point.
func appendPoint(dst, digits []byte, scale int) []byte {
	if n := len(digits) - scale; n > 0 {
		dst = append(dst, digits[:n]...)
		dst = append(dst, '.')
		return append(dst, digits[n:]...)
	}
	dst = append(dst, '0', '.')
	for range scale - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// appendBig writes plain digits, never an exponent: a key must not depend on how a number was written.
func appendBig(dst []byte, d *apd.Decimal) []byte {
	switch d.Form {
	case apd.Infinite:
		if d.Negative {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	case apd.NaN, apd.NaNSignaling:
		return append(dst, "NaN"...)
	default:
		if d.IsZero() {
			return Value{kind: Decimal, scale: max(-d.Exponent, 0)}.appendDecimal(dst) // no -0, no 00
		}
		return d.Append(dst, 'f')
	}
}
