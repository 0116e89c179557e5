package config

import (
	"fmt"
	"strconv"
	"strings"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// yesNo reads true or false.
func yesNo(dst *bool) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.scalar(at, v, "true or false")
		if !ok {
			return
		}
		b, err := strconv.ParseBool(strings.ToLower(s))
		if err != nil || len(s) == 1 {
			d.fail(at, strictyaml.CodeType, fmt.Sprintf("%s takes true or false, found %q", at, s), "")
			return
		}
		*dst = b
	}
}

// oneOf reads one of the words.
func oneOf[T ~string](dst *T, words ...T) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.text(at, v)
		if !ok {
			return
		}
		names := make([]string, len(words))
		for i, w := range words {
			if names[i] = string(w); s == names[i] {
				*dst = w
				return
			}
		}
		hint := problem.DidYouMean(s, names)
		if hint == "" {
			hint = "one of " + strings.Join(names, ", ")
		}
		d.fail(at, strictyaml.CodeEnum, fmt.Sprintf("%s cannot be %q", at, s), hint)
	}
}

// file reads the path of a file. Whether it is good is for the one to say who reads it.
func file(dst *string) field {
	return func(d *decoder, at path, v any) {
		s, ok := d.text(at, v)
		switch {
		case !ok:
		case s == "":
			d.fail(at, strictyaml.CodeMissing, at.String()+" names no file", "remove it, or name a file")
		default:
			*dst = d.resolve(s)
		}
	}
}

// hidden reads a text that may be kept in a file, and that no problem shows.
func hidden(dst *Secret) field {
	return func(d *decoder, at path, v any) {
		if s, ok := d.hide(at, v); ok {
			*dst = NewSecret(s)
		}
	}
}

// hide returns the secret.
func (d *decoder) hide(at path, v any) (string, bool) {
	x, ok := v.(scalar)
	if !ok {
		return d.secret(at, v)
	}
	if x.Tag != "!!str" && x.Tag != "!!null" {
		d.fail(at, strictyaml.CodeType, at.String()+" takes a text", "put it in quotes")
		return "", false
	}
	return d.secret(at, v)
}

// secrets reads one text that is hidden, or a list of them.
func secrets(dst *[]Secret) field {
	return func(d *decoder, at path, v any) {
		*dst = nil
		add := func() field {
			return func(d *decoder, at path, v any) {
				if s, ok := d.hide(at, v); ok {
					*dst = append(*dst, NewSecret(s))
				}
			}
		}
		if _, isList := v.([]any); isList {
			items(add)(d, at, v)
			return
		}
		add()(d, at, v)
	}
}

// numberUpTo reads a whole number of at least 1 and at most high.
func numberUpTo(dst *int, high int) field {
	return func(d *decoder, at path, v any) {
		n, before := 1, len(d.problems)
		number(&n, 1)(d, at, v)
		switch {
		case len(d.problems) > before:
		case n > high:
			d.fail(at, strictyaml.CodeOutOfRange, fmt.Sprintf("%s is %d, at most %d is possible", at, n, high), "")
		default:
			*dst = n
		}
	}
}
