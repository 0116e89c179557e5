package text

import (
	"encoding/json"
	"reflect"
)

// VisibleIn returns the value with Visible applied to every text in it, for encoders that cannot write some characters at all, as that of XML. What
// changes is copied; the value itself, and what only its own package can reach, stay as they are.
func VisibleIn(v any) any {
	if v == nil {
		return nil
	}
	out, _ := visibleIn(reflect.ValueOf(v))
	return out.Interface()
}

// visibleIn also tells whether anything has changed.
func visibleIn(v reflect.Value) (_ reflect.Value, changed bool) {
	switch v.Kind() { //nolint:exhaustive // no other kind holds a text
	case reflect.String:
		s := Visible(v.String())
		if s == v.String() {
			return v, false
		}
		return reflect.ValueOf(s).Convert(v.Type()), true
	case reflect.Pointer, reflect.Interface:
		return visibleBehind(v)
	case reflect.Struct:
		return visibleFields(v)
	case reflect.Slice, reflect.Array:
		return visibleItems(v)
	case reflect.Map:
		return visibleMembers(v)
	}
	return v, false
}

func visibleBehind(v reflect.Value) (_ reflect.Value, changed bool) {
	if v.IsNil() {
		return v, false
	}
	elem, changed := visibleIn(v.Elem())
	if !changed {
		return v, false
	}
	if v.Kind() == reflect.Interface {
		return elem, true
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(elem)
	return out, true
}

func visibleFields(v reflect.Value) (_ reflect.Value, changed bool) {
	out := v
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		field, other := visibleIn(v.Field(i))
		if !other {
			continue
		}
		if !changed {
			out, changed = reflect.New(v.Type()).Elem(), true
			out.Set(v)
		}
		out.Field(i).Set(field)
	}
	return out, changed
}

func visibleItems(v reflect.Value) (_ reflect.Value, changed bool) {
	if v.Type() == rawType {
		raw := v.Bytes()
		if rawRefused(raw, 0) < 0 {
			return v, false
		}
		return reflect.ValueOf(json.RawMessage(EscapeJSON(raw))), true
	}
	out := v
	for i := range v.Len() {
		item, other := visibleIn(v.Index(i))
		if !other {
			continue
		}
		if !changed {
			out, changed = reflect.New(v.Type()).Elem(), true
			if v.Kind() == reflect.Slice {
				out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			}
			reflect.Copy(out, v)
		}
		out.Index(i).Set(item)
	}
	return out, changed
}

func visibleMembers(v reflect.Value) (_ reflect.Value, changed bool) {
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for name, value := range v.Seq2() {
		name, one := visibleIn(name)
		value, other := visibleIn(value)
		changed = changed || one || other
		out.SetMapIndex(name, value)
	}
	if !changed {
		return v, false
	}
	return out, true
}
