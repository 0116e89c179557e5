package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	policy "tallyman/internal/text"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// decoder fills a Config from the merged layers and collects what is wrong.
type decoder struct {
	*layers
	dir      string // what paths are relative to
	env      map[string]string
	problems problem.List
	failed   map[string]bool // paths of values that are bad, or hold one that is
	lazy     bool            // see Options
	open     open
	hidden   map[int]bool // lines of the file that hold what nobody may see
}

// fail reports a problem that stands at the value.
func (d *decoder) fail(at path, code, message, hint string) {
	d.add(at, d.at(at, false, code, message, hint))
}

// failName reports a problem that stands at the name of the value.
func (d *decoder) failName(at path, code, message, hint string) {
	d.add(at, d.at(at, true, code, message, hint))
}

func (d *decoder) add(at path, p problem.Problem) {
	d.problems = append(d.problems, p)
	for i := range at {
		d.failed[at[:i+1].String()] = true
	}
}

// bad tells whether there is a problem at the value or below it.
func (d *decoder) bad(at path) bool { return d.failed[at.String()] }

// field reads one value.
type field func(d *decoder, at path, v any)

// section reads a map whose names are known.
func section(fields map[string]field) field {
	return func(d *decoder, at path, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			d.wrong(at, "a map of fields", v)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if f, ok := fields[name]; ok {
				f(d, at.to(name), m[name])
				continue
			}
			known := slices.Sorted(maps.Keys(fields))
			hint := problem.DidYouMean(name, known)
			if hint == "" {
				hint = "known fields: " + strings.Join(known, ", ")
			}
			d.failName(at.to(name), strictyaml.CodeUnknown, fmt.Sprintf("there is no field %q", at.to(name)), hint)
		}
	}
}

// entries reads a map whose names the site chooses.
func entries(each func(name string) field) field {
	return func(d *decoder, at path, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			d.wrong(at, "a map", v)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			d.checkName(at.to(name), name)
			each(name)(d, at.to(name), m[name])
		}
	}
}

// items reads a list.
func items(each func() field) field {
	return func(d *decoder, at path, v any) {
		list, ok := v.([]any)
		if !ok {
			d.wrong(at, "a list", v)
			return
		}
		for i, item := range list {
			each()(d, at.to(strconv.Itoa(i)), item)
		}
	}
}

// text reads a text, with the variables that it names.
func text[T ~string](dst *T) field {
	return func(d *decoder, at path, v any) {
		if s, ok := d.text(at, v); ok {
			*dst = T(s)
		}
	}
}

// secret reads a text that may be kept in a file.
func secret(dst *Secret) field {
	return func(d *decoder, at path, v any) {
		if s, ok := d.secret(at, v); ok {
			*dst = NewSecret(s)
		}
	}
}

// texts reads a list of texts; from outside the file it is one text with commas.
func texts(dst *[]string) field {
	return func(d *decoder, at path, v any) {
		*dst = nil
		if o, ok := v.(overlay); ok {
			for part := range strings.SplitSeq(string(o), ",") {
				*dst = append(*dst, strings.TrimSpace(part))
			}
			return
		}
		items(func() field {
			return func(d *decoder, at path, v any) {
				if s, ok := d.text(at, v); ok {
					*dst = append(*dst, s)
				}
			}
		})(d, at, v)
	}
}

// number reads a whole number of at least low.
func number(dst *int, low int) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.scalar(at, v, "a whole number")
		if !ok {
			return
		}
		n, err := strconv.Atoi(s)
		switch {
		case err != nil:
			d.fail(at, strictyaml.CodeType, fmt.Sprintf("%s takes a whole number, found %q", at, s), "")
		case n < low:
			d.fail(at, strictyaml.CodeOutOfRange, fmt.Sprintf("%s is %d, at least %d is needed", at, n, low), "")
		default:
			*dst = n
		}
	}
}

// duration reads a duration of at least low.
func duration(dst *time.Duration, low time.Duration) field {
	return durationUpTo(dst, low, math.MaxInt64)
}

// durationUpTo reads a duration of at least low and at most high.
func durationUpTo(dst *time.Duration, low, high time.Duration) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.scalar(at, v, "a duration such as 30s")
		if !ok {
			return
		}
		x, err := strictyaml.ParseDuration(s)
		switch {
		case err != nil:
			d.fail(at, strictyaml.CodeDuration, fmt.Sprintf("%s: %q is no duration", at, s), err.Error())
		case x < low:
			d.fail(at, strictyaml.CodeOutOfRange,
				fmt.Sprintf("%s is %s, at least %s is needed", at, s, inUnits(low)), "")
		case x > high:
			d.fail(at, strictyaml.CodeOutOfRange, fmt.Sprintf("%s is %s, at most %s is possible", at, s, inUnits(high)), "")
		default:
			*dst = x
		}
	}
}

// inUnits writes a limit as people do: a year in days.
func inUnits(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 2*day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return strictyaml.FormatDuration(d)
}

// durations reads a list of durations; from outside the file it is one text with commas.
func durations(dst *[]time.Duration, low, high time.Duration) field {
	return func(d *decoder, at path, v any) {
		list := []time.Duration{}
		one := func(d *decoder, at path, v any) {
			var x time.Duration
			durationUpTo(&x, low, high)(d, at, v)
			list = append(list, x)
		}
		if o, ok := v.(overlay); ok {
			for part := range strings.SplitSeq(string(o), ",") {
				if part = strings.TrimSpace(part); part != "" {
					one(d, at, overlay(part))
				}
			}
		} else {
			items(func() field { return one })(d, at, v)
		}
		*dst = list
	}
}

// text returns the value as a text, which in the file it must be: 0123 or 1e5 would lose what was written.
func (d *decoder) text(at path, v any) (string, bool) {
	if s, ok := v.(scalar); ok && s.Tag != "!!str" {
		d.wrong(at, "a text", v)
		return "", false
	}
	return d.scalar(at, v, "a text")
}

// scalar returns a single value as it is written, with the variables that it names.
func (d *decoder) scalar(at path, v any, want string) (string, bool) {
	switch x := v.(type) {
	case overlay:
		return d.line(at, string(x))
	case scalar:
		if x.Tag == "!!str" {
			s, ok := d.expand(at, x.Text)
			if !ok {
				return "", false
			}
			return d.line(at, s)
		}
		if x.Tag != "!!null" {
			return x.Text, true
		}
	}
	d.wrong(at, want, v)
	return "", false
}

// line takes a text as the policy has it, wherever it came from: the file, a variable or a flag. No setting has several lines.
func (d *decoder) line(at path, s string) (string, bool) {
	if fault := policy.Check(s, policy.Line); fault != nil {
		d.fail(at, policy.Code, fmt.Sprintf("%s: %v", at, fault), "")
		return "", false
	}
	return s, true
}

// wrong reports a value of another kind than is needed.
func (d *decoder) wrong(at path, want string, v any) {
	found, hint := "a text", ""
	switch x := v.(type) {
	case map[string]any:
		found = "a map"
	case []any:
		found = "a list"
	case scalar:
		switch x.Tag {
		case "!!null":
			found, hint = "nothing", "remove the field, or give it a value"
		case "!!str":
		default:
			found, hint = x.Text, "put it in quotes"
		}
	}
	d.fail(at, strictyaml.CodeType, fmt.Sprintf("%s takes %s, found %s", at, want, found), hint)
}
