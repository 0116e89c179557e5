package codec

import (
	"tallyman/internal/ledger"
)

// LookBack collects the rows of the statement look-back.
type LookBack struct {
	from      string
	at        int64
	n, seenAt int64
	position  string
	backlog   bool
	identity  string
	hashes    []byte
	readings  int // number of rows read
	memory    ledger.LookBack
}

// Columns returns pointers to the fields in the order of the statement's columns.
func (b *LookBack) Columns() []any {
	return []any{&b.from, &b.at, &b.n, &b.seenAt, &b.position, &b.backlog, &b.identity, &b.hashes}
}

// Read adds the row that was scanned into the columns.
func (b *LookBack) Read() (err error) {
	if b.readings++; b.readings == 1 {
		b.memory.At = Time(b.at)
		if b.memory.From, err = ParseWatermark(b.from); err != nil {
			return err
		}
	}
	if b.n == 0 {
		return nil
	}
	rows := ledger.SeenRows{N: b.n, At: Time(b.seenAt), Backlog: b.backlog, Identity: b.identity, Hashes: b.hashes}
	rows.Position, err = ParseWatermark(b.position)
	b.memory.Seen, b.hashes = append(b.memory.Seen, rows), nil
	return err
}

// Memory returns the collected memory of the rule in the scope.
func (b *LookBack) Memory() ledger.LookBack { return b.memory }

// Statement is a statement of a transaction: its name and its arguments.
type Statement struct {
	Name string
	Args []any
}

// LookBackChanges returns the statements that write the change; none for nil.
func LookBackChanges(scopeID any, c *ledger.LookBackChange) ([]Statement, error) {
	switch {
	case c == nil:
		return nil, nil
	case c.From == nil:
		return []Statement{{"forget-look-back", []any{scopeID}}, {"forget-seen-rows", []any{scopeID}}}, nil
	}
	from, err := Watermark(c.From)
	if err != nil {
		return nil, err
	}
	list := []Statement{{"keep-look-back", []any{scopeID, *from, Micros(c.At)}}}
	if c.Through > 0 {
		list = append(list, Statement{"drop-seen-rows", []any{scopeID, c.Through}})
	}
	for i := range c.Add {
		rows := &c.Add[i]
		position, err := Watermark(rows.Position)
		if err != nil {
			return nil, err
		}
		list = append(list, Statement{"add-seen-rows", []any{scopeID, rows.N, Micros(rows.At), *position, rows.Backlog, rows.Identity, rows.Hashes}})
	}
	return list, nil
}
