package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// The codes of push channels.
const (
	CodeRate = "bad_rate"
)

// PushSink is what every push channel has: how much of it there may be at once, and when it is left alone. Everything but the
// rate is set.
type PushSink struct {
	Timeout     time.Duration // of a call
	Concurrency int           // calls at a time, on each node
	Rate        Rate          // calls, on each node
	Breaker     Breaker
}

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

// Breaker says when a push channel that fails is left alone.
type Breaker struct {
	Failures int           // transient errors in a row that open it
	Open     time.Duration // how long it stays open before one call is tried
}

// Batch says how many deliveries a call may carry.
type Batch struct {
	Max  int           // 1 = each goes alone
	Wait time.Duration // how long the first waits for others, at most
}

// The bounds of what a push channel takes.
const (
	leastTimeout, longestTimeout = time.Second, 5 * time.Minute
	mostCalls                    = 256     // at a time
	fastestRate                  = 1000000 // in any unit
	mostFailures                 = 1000
	leastOpen, longestOpen       = time.Second, time.Hour
	mostInBatch                  = 1000
	longestWait                  = time.Minute
)

// noRate is how a rate without a limit is written.
const noRate = "none"

var (
	ratePattern = regexp.MustCompile(`^([0-9]{1,9})/(s|m|h)$`)
	rateUnits   = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
)

func defaultPush() *PushSink {
	return &PushSink{Timeout: 10 * time.Second, Concurrency: 8, Breaker: Breaker{Failures: 5, Open: 30 * time.Second}}
}

func (p *PushSink) fields() map[string]field {
	return map[string]field{
		"timeout":     durationUpTo(&p.Timeout, leastTimeout, longestTimeout),
		"concurrency": numberUpTo(&p.Concurrency, mostCalls),
		"rate":        rate(&p.Rate),
		"breaker": section(map[string]field{
			"failures": numberUpTo(&p.Breaker.Failures, mostFailures),
			"open":     durationUpTo(&p.Breaker.Open, leastOpen, longestOpen),
		}),
	}
}

func (b *Batch) field() field {
	return section(map[string]field{
		"max":  numberUpTo(&b.Max, mostInBatch),
		"wait": durationUpTo(&b.Wait, 0, longestWait),
	})
}

// rate reads how many calls there may be in a span.
func rate(dst *Rate) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.scalar(at, v, "a rate such as 50/s")
		if !ok {
			return
		}
		if s == noRate {
			*dst = Rate{}
			return
		}
		m := ratePattern.FindStringSubmatch(s)
		if m == nil {
			d.fail(at, CodeRate, fmt.Sprintf("%s: %q is no rate", at, s), "so many calls a second, minute or hour, such as 50/s, 600/m or 1000/h; or none")
			return
		}
		calls, err := strconv.Atoi(m[1])
		if err != nil || calls < 1 || calls > fastestRate {
			d.fail(at, CodeRate, fmt.Sprintf("%s is %s: 1 to %d are possible", at, s, fastestRate), "leave it away, or write none, for no limit")
			return
		}
		*dst = Rate{Calls: calls, Per: rateUnits[m[2]]}
	}
}
