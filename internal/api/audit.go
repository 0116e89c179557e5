package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// largestState is the largest state, in bytes of JSON, that a record keeps of something outside of the ledger.
const largestState = 64 << 10

// StateJSON returns a state for an audit record, without secret members. Of a state that is too large it returns only
// the size.
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

// secretMembers are the names of members that no audit record has.
var secretMembers = []string{"secret", "password", "hash"}

// cleaned removes the secret members at every depth. It changes v.
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
