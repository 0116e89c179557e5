package api

import (
	"bytes"
	"encoding/json"
	"strings"
)

// stateJSON is a state as a record keeps it: without the members that are named and those that are secret. One that is too large is told
// by its size.
func stateJSON(v any, without []string) json.RawMessage { return stateWithin(largestState, v, without) }

// stateWithin is stateJSON of a state that may have so many bytes.
func stateWithin(most int, v any, without []string) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	if len(b) > most {
		b, _ = json.Marshal(map[string]int{"omittedBytes": len(b)}) //nolint:errchkjson // a map of a number
		return b
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil || tree == nil {
		return nil
	}
	b, _ = json.Marshal(cleaned(tree, without)) //nolint:errchkjson // it was JSON
	return b
}

// secretMembers never reach a record, whatever the operation.
var secretMembers = []string{"secret", "password", "hash"}

// cleaned leaves members out.
func cleaned(v any, without []string) any {
	switch x := v.(type) {
	case map[string]any:
		for name, member := range x {
			if isOneOf(name, without) || isOneOf(name, secretMembers) {
				delete(x, name)
				continue
			}
			x[name] = cleaned(member, without)
		}
	case []any:
		for i := range x {
			x[i] = cleaned(x[i], without)
		}
	}
	return v
}

func isOneOf(name string, names []string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}
