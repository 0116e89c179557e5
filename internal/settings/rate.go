package settings

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"tallyman/rules/strictyaml"
)

// Rate is so many calls in a span; the zero value is no limit.
type Rate struct {
	Calls int
	Per   time.Duration // a second, a minute or an hour
}

// PerSecond is the rate as a number; 0 = no limit.
func (r Rate) PerSecond() float64 {
	if r.Calls == 0 {
		return 0
	}
	return float64(r.Calls) / r.Per.Seconds()
}

// String is the rate as the configuration has it.
func (r Rate) String() string {
	for unit, per := range rateUnits {
		if r.Calls > 0 && per == r.Per {
			return strconv.Itoa(r.Calls) + "/" + unit
		}
	}
	return noRate
}

const (
	noRate      = "none"  // how a rate without a limit is written
	fastestRate = 1000000 // in any unit
)

var (
	ratePattern = regexp.MustCompile(`^([0-9]{1,9})/(s|m|h)$`)
	rateUnits   = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
)

// DecodeYAML reads how many calls there may be in a span.
func (r *Rate) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	s, ok := d.Setting(name, n, "a rate such as 50/s")
	if !ok {
		return
	}
	if s == noRate {
		*r = Rate{}
		return
	}
	m := ratePattern.FindStringSubmatch(s)
	if m == nil {
		d.Fail(n, CodeRate, fmt.Sprintf("%s: %q is no rate", name, s), "so many calls a second, minute or hour, such as 50/s, 600/m or 1000/h; or none")
		return
	}
	calls, err := strconv.Atoi(m[1])
	if err != nil || calls < 1 || calls > fastestRate {
		d.Fail(n, CodeRate, fmt.Sprintf("%s is %s: 1 to %d are possible", name, s, fastestRate), "leave it away, or write none, for no limit")
		return
	}
	*r = Rate{Calls: calls, Per: rateUnits[m[2]]}
}
