package api

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
)

const auditTimeout = 10 * time.Second

// Record writes the audit record of an operation outside of the ledger, in the name of the API's caller. A handler
// calls Record before the operation. If Record fails, the handler must not do the operation. Record also writes after
// the client has disconnected.
func Record(ctx context.Context, audit ledger.AuditWriter, c *ledger.Change) error {
	who := auth.From(ctx).Author()
	c.By, c.Via = who.By, who.Via
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer done()
	return audit.AddChange(ctx, c)
}

// largestState is the largest state, in bytes of JSON, that a record keeps of something outside of the ledger.
const largestState = 64 << 10

// StateJSON returns a state for an audit record, without secret members. If the state is too large, StateJSON returns
// only its size.
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

// secretMembers are the names of the members that StateJSON removes.
var secretMembers = []string{"secret", "password", "hash"}

// cleaned removes the secret members at every depth. cleaned changes v.
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
