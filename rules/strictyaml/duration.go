package strictyaml

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var durationPart = regexp.MustCompile(`^(\d+(?:\.\d+)?)(\pL*)`)

var units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// ParseDuration reads a duration such as 90s, 1.5h or 1d12h: numbers with the units d, h, m and s, each at most once and
// the larger before the smaller. 0 needs no unit, and a leading minus is allowed.
func ParseDuration(s string) (time.Duration, error) {
	rest, negative := strings.CutPrefix(s, "-")
	if rest == "0" {
		return 0, nil
	}
	if rest == "" {
		return 0, errors.New("a duration is a number and a unit, such as 10m")
	}
	total, last := time.Duration(0), time.Duration(math.MaxInt64)
	for rest != "" {
		m := durationPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, errors.New("a duration is numbers with the units d, h, m and s, such as 90s or 1d12h")
		}
		rest = rest[len(m[0]):]
		unit, ok := units[m[2]]
		switch {
		case m[2] == "":
			return 0, errors.New(m[1] + " has no unit: add s, m, h or d")
		case !ok:
			return 0, errors.New("the units are s, m, h and d, not " + m[2])
		case unit >= last:
			return 0, errors.New("the larger unit comes first, and each only once")
		}
		last = unit
		number, err := strconv.ParseFloat(m[1], 64)
		if err != nil || number*float64(unit) > math.MaxInt64/2 {
			return 0, errors.New("the duration is too long")
		}
		total += time.Duration(math.Round(number * float64(unit)))
		if total < 0 {
			return 0, errors.New("the duration is too long")
		}
	}
	if negative {
		total = -total
	}
	return total, nil
}

// FormatDuration writes a duration the way ParseDuration reads it, days as hours: 72h, 1h30m, 0.5s.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
		d = -d
	}
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}} {
		if n := d / u.size; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.name)
			d %= u.size
		}
	}
	if d > 0 {
		b.WriteString(strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s")
	}
	return b.String()
}
