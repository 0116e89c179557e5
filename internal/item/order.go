package item

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ServiceOrder decides which ready item of a level is served first: the item with the lowest order. The zero value is
// no order. Then the time when the item became ready counts, in ms since 1970. Items with the same order are served in
// the sequence in which they became ready.
type ServiceOrder struct {
	Given bool
	// Thousandths of the number; for a time, its microseconds since 1970. Between -MostOrder and MostOrder.
	Thousandths int64
}

// MostOrder bounds the thousandths of an order. Redis holds such numbers exactly, and times until 2096 fit.
const MostOrder = 4_000_000_000_000_000

// orderDigits is the highest number of digits after the decimal point.
const orderDigits = 3

// OrderAt returns the order of a time, to the microsecond.
func OrderAt(t time.Time) ServiceOrder { return ServiceOrder{Given: true, Thousandths: t.UnixMicro()} }

// ParseServiceOrder reads a number with at most three digits after the decimal point, or a time such as
// 2026-05-01T14:00:00Z. "" is no order.
func ParseServiceOrder(text string) (ServiceOrder, error) {
	if text == "" {
		return ServiceOrder{}, nil
	}
	o, err := parseThousandths(text)
	if err != nil {
		at, notTime := time.Parse(time.RFC3339Nano, text)
		if notTime != nil {
			return ServiceOrder{}, err
		}
		o = at.UnixMicro()
	}
	if o < -MostOrder || o > MostOrder {
		return ServiceOrder{}, fmt.Errorf("the order %s is not between -%d and %[2]d", text, int64(MostOrder/1000))
	}
	return ServiceOrder{Given: true, Thousandths: o}, nil
}

// parseThousandths reads a decimal number. It uses no float, so that 0.1 is exactly 100.
func parseThousandths(text string) (int64, error) {
	bad := fmt.Errorf("the order %.40q is neither a number with at most %d digits behind the point nor a time such as 2026-05-01T14:00:00Z", text, orderDigits)
	digits, isNegative := strings.CutPrefix(text, "-")
	whole, fraction, hasPoint := strings.Cut(digits, ".")
	fraction = strings.TrimRight(fraction, "0")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" || len(fraction) > orderDigits || hasPoint && strings.HasSuffix(digits, ".") {
		return 0, bad
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", orderDigits-len(fraction)), 10, 64)
	if err != nil { // so many digits exceed every bound
		n = math.MaxInt64
	}
	if isNegative {
		n = -n
	}
	return n, nil
}

// String returns the number; "" where there is no order.
func (o ServiceOrder) String() string {
	if !o.Given {
		return ""
	}
	sign, n := "", o.Thousandths
	if n < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%d.%03d", n/1000, n%1000)
	return sign + strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// MarshalText implements encoding.TextMarshaler.
func (o ServiceOrder) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *ServiceOrder) UnmarshalText(text []byte) error {
	var err error
	*o, err = ParseServiceOrder(string(text))
	return err
}
