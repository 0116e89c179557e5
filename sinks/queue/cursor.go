package queue

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tallyman/internal/item"
)

// cursor is where a page ended. What the fields mean is up to the state: see scripts/list.lua; for ends, at is the ledger's
// number of the last item.
type cursor struct {
	level     int    // of a ready item
	at        int64  // the number of its run, or the due time
	passed    int64  // how many items of the run were looked at
	warehouse string // of the last item that was looked at, as scripts name it
	id        string // of that item
}

// encode makes a text of it that is good for lists of the same state only.
func (c cursor) encode(state item.State) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %d %d %d %s %s", state, c.level, c.at, c.passed, c.warehouse, c.id))
}

// decodeCursor reads what encode has written; "" is the beginning.
func decodeCursor(text string, state item.State) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	fields := strings.SplitN(string(b), " ", 6)
	if err != nil || len(fields) != 6 {
		return cursor{}, invalid("after", -1, "is no cursor of a list of items")
	}
	if fields[0] != string(state) {
		return cursor{}, invalid("after", -1, "is the cursor of a list of another state")
	}
	c := cursor{warehouse: fields[4], id: fields[5]}
	level, errLevel := strconv.Atoi(fields[1])
	at, errAt := strconv.ParseInt(fields[2], 10, 64)
	passed, errPassed := strconv.ParseInt(fields[3], 10, 64)
	if errors.Join(errLevel, errAt, errPassed) != nil || level < 0 || level > item.HighestPriority || at < 0 || at > maxExact ||
		passed < 0 || passed > maxExact {
		return cursor{}, invalid("after", -1, "is no cursor of a list of items")
	}
	c.level, c.at, c.passed = level, at, passed
	return c, nil
}

// maxExact is what Lua's numbers hold exactly.
const maxExact = 1 << 53
