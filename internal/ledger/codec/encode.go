package codec

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tallyman/rules/row"
)

// Micros encodes a time as µs since 1970; 0 is the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Time is the reverse of Micros, in UTC.
func Time(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Span returns the time.Duration of that many µs.
func Span(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// Watermark encodes a watermark as JSON that keeps kind and value exactly. Watermark returns nil for an unchanged
// watermark.
func Watermark(values []row.Value) (*string, error) {
	if values == nil {
		return nil, nil //nolint:nilnil // NULL, which the statement takes as unchanged
	}
	b, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode the watermark: %w", err)
	}
	text := string(b)
	return &text, nil
}

// ParseWatermark is the reverse of Watermark; "" = no watermark.
func ParseWatermark(s string) ([]row.Value, error) {
	if s == "" {
		return nil, nil
	}
	var values []row.Value
	if err := json.Unmarshal([]byte(s), &values); err != nil {
		return nil, fmt.Errorf("decode the watermark: %w", err)
	}
	return values, nil
}

// Texts encodes a list of texts as a JSON array; "" for an empty list.
func Texts(list []string) string {
	if len(list) == 0 {
		return ""
	}
	b, err := json.Marshal(list)
	if err != nil { // strings always encode
		return ""
	}
	return string(b)
}

// ParseTexts is the reverse of Texts.
func ParseTexts(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		return nil, fmt.Errorf("decode a list: %w", err)
	}
	return list, nil
}

// Recipients splits the column of recipients, which are separated by spaces. A subscriber has no space in it; see
// ledger.Subscription.Validate.
func Recipients(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, " ")
}
