package sqldb

import "tallyman/rules/row"

// Plain makes of a parameter's value what every driver takes: nil, bool, int64, float64, []byte, and the text of everything else.
// What a database reads in a form of its own, its Dialect binds.
func Plain(v row.Value) any {
	switch v.Kind() {
	case row.Null:
		return nil
	case row.Bool:
		return v.Bool()
	case row.Int:
		return v.Int()
	case row.Float:
		return v.Float()
	case row.Bytes:
		return []byte(v.Text())
	default:
		return v.String()
	}
}
