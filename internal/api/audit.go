package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// largestState is how many bytes of JSON a record keeps of a state that is not the ledger's.
const largestState = 64 << 10

// StateJSON is a state as a record keeps it: without the members that are secret. One that is too large is told by its size.
func StateJSON(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	if len(b) > largestState {
		b, _ = json.Marshal(map[string]int{"omittedBytes": len(b)}) //nolint:errchkjson // a map of a number
		return b
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil || tree == nil {
		return nil
	}
	b, _ = json.Marshal(cleaned(tree)) //nolint:errchkjson // it was JSON
	return b
}

// secretMembers never reach a record, whatever the operation.
var secretMembers = []string{"secret", "password", "hash"}

// cleaned leaves members out.
func cleaned(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, member := range x {
			if isSecret(name) {
				delete(x, name)
				continue
			}
			x[name] = cleaned(member)
		}
	case []any:
		for i := range x {
			x[i] = cleaned(x[i])
		}
	}
	return v
}

func isSecret(name string) bool {
	return slices.ContainsFunc(secretMembers, func(secret string) bool { return strings.EqualFold(secret, name) })
}
