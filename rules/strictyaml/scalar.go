package strictyaml

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tallyman/internal/text"
	"tallyman/rules/problem"
)

func (d *Decoder) scalar(name string, n *Node, v reflect.Value, tag reflect.StructTag) {
	switch v.Kind() {
	case reflect.String:
		if s, ok := d.Text(name, n); ok && d.oneOf(name, n, s, tag.Get("enum")) {
			v.SetString(s)
		}
	case reflect.Bool:
		if b, ok := d.Bool(name, n); ok {
			v.SetBool(b)
		}
	case reflect.Int, reflect.Int64:
		if i, ok := d.Int(name, n); ok && d.inRange(name, n, strconv.FormatInt(i, 10), float64(i), tag, number) {
			v.SetInt(i)
		}
	default:
		panic("strictyaml: no decoding for " + v.Type().String())
	}
}

// Text reads a text. Numbers and booleans are not texts, because values such as 0123 and 1e5 would lose their written
// form.
func (d *Decoder) Text(name string, n *Node) (string, bool) {
	d.tagFaults(n)
	if d.settings != nil {
		return d.settingText(name, n)
	}
	if n.Kind == Scalar && (n.Tag == "!!str" || n.Tag == "!!timestamp") {
		if fault := text.Check(n.Text, d.shape); fault != nil {
			d.Fail(n, CodeText, fmt.Sprintf("%s: %v", name, fault), d.textHint(n))
			return "", false
		}
		return n.Text, true
	}
	hint := ""
	switch {
	case n.IsNull():
		hint = "remove the field, or give it a value"
	case n.Kind == Scalar:
		hint = fmt.Sprintf("put it in quotes: %q", clip(n.Text))
	case n.Kind == Mapping && n.style != 0 && len(n.Fields) == 1:
		hint = "a text that begins with { needs quotes"
	}
	d.wrong(name, n, "a text", hint)
	return "", false
}

// textHint says what to do where a text has a line break that its field does not take.
func (d *Decoder) textHint(n *Node) string {
	switch {
	case n.style&yaml.FoldedStyle != 0:
		return "write >- instead of >, which ends the text with a line break"
	case n.style&yaml.LiteralStyle != 0:
		return "write the text in one line"
	}
	return ""
}

// Bool reads true or false.
func (d *Decoder) Bool(name string, n *Node) (bool, bool) {
	d.tagFaults(n)
	if d.settings != nil {
		return d.settingBool(name, n)
	}
	switch {
	case n.Kind == Scalar && n.Tag == "!!bool" && strings.EqualFold(n.Text, "true"):
		return true, true
	case n.Kind == Scalar && n.Tag == "!!bool" && strings.EqualFold(n.Text, "false"):
		return false, true
	}
	d.wrong(name, n, "true or false", "")
	return false, false
}

var plainInt = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)

// Int reads a whole number in plain digits. It refuses 010, 0x1F and 1_000, because different readers of YAML read them
// differently.
func (d *Decoder) Int(name string, n *Node) (int64, bool) {
	d.tagFaults(n)
	if d.settings != nil {
		return d.settingInt(name, n)
	}
	if n.Kind != Scalar || n.Tag != "!!int" {
		d.wrong(name, n, "a whole number", "")
		return 0, false
	}
	if !plainInt.MatchString(n.Text) {
		d.wrong(name, n, "a whole number in plain digits", "write it without leading zeros, prefixes and underscores, or as a text in quotes")
		return 0, false
	}
	i, err := strconv.ParseInt(n.Text, 10, 64)
	if err != nil {
		d.Fail(n, CodeOutOfRange, fmt.Sprintf("%s is too large a number: %s", name, clip(n.Text)), "")
		return 0, false
	}
	return i, true
}

// Any reads a scalar of any type. The result is a string, int64, float64, bool or nil.
func (d *Decoder) Any(name string, n *Node) (any, bool) {
	d.tagFaults(n)
	if n.Kind != Scalar {
		d.wrong(name, n, "a single value", "")
		return nil, false
	}
	switch n.Tag {
	case "!!null":
		return nil, true
	case "!!bool":
		return d.Bool(name, n)
	case "!!int":
		return d.Int(name, n)
	case "!!float":
		x, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			d.wrong(name, n, "a finite number", "")
			return nil, false
		}
		return x, true
	default:
		return d.Text(name, n)
	}
}

const durationHint = "a duration is numbers with the units d, h, m and s, such as 90s or 1d12h"

func (d *Decoder) duration(name string, n *Node, v reflect.Value, tag reflect.StructTag) {
	d.tagFaults(n)
	written, ok := d.durationText(name, n)
	if !ok {
		return
	}
	x, err := ParseDuration(written)
	if err != nil {
		hint := err.Error()
		if d.IsResolved(n) {
			hint = durationHint
		}
		d.Fail(n, CodeDuration, fmt.Sprintf("%s: %q is no duration", name, clip(written)), hint)
		return
	}
	if tag.Get("min") == "" {
		tag += ` min:"0s"`
	}
	if d.inRange(name, n, written, float64(x), tag, durationBound) {
		v.SetInt(int64(x))
	}
}

// durationText returns the text of a duration.
func (d *Decoder) durationText(name string, n *Node) (string, bool) {
	if d.settings != nil {
		return d.Setting(name, n, "a duration such as 30s")
	}
	if n.Kind != Scalar || n.Tag == "!!bool" || n.IsNull() {
		d.wrong(name, n, "a duration such as 10m", "")
		return "", false
	}
	return n.Text, true
}

func (d *Decoder) oneOf(name string, n *Node, s, enum string) bool {
	if enum == "" {
		return true
	}
	known := strings.Split(enum, ",")
	if slices.Contains(known, s) {
		return true
	}
	hint := problem.DidYouMean(s, known)
	if hint == "" {
		hint = "one of " + strings.Join(known, ", ")
	}
	d.Fail(n, CodeEnum, fmt.Sprintf("%s cannot be %q", name, clip(s)), hint)
	return false
}

// number and durationBound read a bound from a struct tag. Our own code writes the tags, so they have no faults.
func number(s string) float64 {
	x, _ := strconv.ParseFloat(s, 64)
	return x
}

func durationBound(s string) float64 {
	x, _ := ParseDuration(s)
	return float64(x)
}

func (d *Decoder) inRange(name string, n *Node, written string, x float64, tag reflect.StructTag, read func(string) float64) bool {
	possible := "allowed"
	if d.settings != nil {
		possible = "possible"
	}
	fault := rangeFault(x, tag, read, possible)
	if fault != "" {
		d.Fail(n, CodeOutOfRange, fmt.Sprintf("%s is %s, %s", name, clip(written), fault), "")
	}
	return fault == ""
}

// rangeFault says which bound of a field's tags the value breaks. It returns "" where the value is within the bounds.
func rangeFault(x float64, tag reflect.StructTag, read func(string) float64, possible string) string {
	if low := tag.Get("min"); low != "" && x < read(low) {
		return "at least " + low + " is needed"
	}
	if high := tag.Get("max"); high != "" && x > read(high) {
		return "at most " + high + " is " + possible
	}
	return ""
}

// RangeFault says which bound of a field's tags a number or duration breaks, for values that do not come from a file.
// It returns "" where the value is within the bounds.
func RangeFault[T int | time.Duration](x T, tag reflect.StructTag) string {
	read := number
	if _, ok := any(x).(time.Duration); ok {
		read = durationBound
	}
	return rangeFault(float64(x), tag, read, "possible")
}

// tagFaults reports the faults of a scalar. The functions that walk maps and lists report the faults of these.
func (d *Decoder) tagFaults(n *Node) {
	if n.Kind == Scalar {
		d.Faults(n)
	}
}

var durationPart = regexp.MustCompile(`^(\d+(?:\.\d+)?)(\pL*)`)

var units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// ParseDuration reads a duration such as 90s, 1.5h or 1d12h. The units are d, h, m and s. Each unit stands at most
// once, and larger units come first. 0 needs no unit, and a leading minus is allowed.
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
			return 0, errors.New(durationHint)
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

// FormatDuration writes a duration in a form that ParseDuration reads: 72h, 1h30m, 0.5s. It writes days as hours.
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
