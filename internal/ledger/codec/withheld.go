package codec

import (
	"encoding/json"

	"tallyman/internal/item"
)

// Withholdings is what one call of WithholdItems writes.
type Withholdings struct {
	Seqs []int64

	rows  []withheldRow
	bySeq map[int64]*item.Withheld
	was   Standing // of the row that was scanned last
}

// withheldRow is one item, as the statements take it.
type withheldRow struct {
	Seq   int64  `json:"seq"`
	Moves int64  `json:"moves"`
	At    int64  `json:"at"`
	Trail string `json:"trail"`
}

// NewWithholdings prepares them.
func NewWithholdings(list []item.Withheld) *Withholdings {
	w := &Withholdings{Seqs: make([]int64, len(list)), bySeq: make(map[int64]*item.Withheld, len(list))}
	for i := range list {
		w.Seqs[i] = list[i].Seq
		w.bySeq[list[i].Seq] = &list[i]
	}
	return w
}

// Begin forgets the rows of a transaction that is run again.
func (w *Withholdings) Begin() { w.rows = nil }

// Columns returns pointers to the columns of standing-items.
func (w *Withholdings) Columns() []any {
	return []any{&w.was.Seq, &w.was.N, &w.was.State, &w.was.Attempt, &w.was.Failures, &w.was.Suspends, &w.was.Assignee}
}

// Add adds the item whose row was scanned.
func (w *Withholdings) Add() error {
	from, err := item.FromLetter(w.was.State)
	if err != nil {
		return err
	}
	one := w.bySeq[w.was.Seq]
	m := item.Move{
		Seq: one.Seq, N: w.was.N + 1, At: one.At, From: from, To: item.Dead, Attempt: int(w.was.Attempt), Failures: int(w.was.Failures),
		Suspends: int(w.was.Suspends), Due: one.At, Assignee: w.was.Assignee, Node: one.Node, Note: one.Note,
	}
	w.rows = append(w.rows, withheldRow{Seq: m.Seq, Moves: m.N, At: Micros(m.At), Trail: string(appendMove(nil, &m))})
	return nil
}

// Rows are the items as JSON; "" where there are none.
func (w *Withholdings) Rows() (string, error) {
	if len(w.rows) == 0 {
		return "", nil
	}
	text, err := json.Marshal(w.rows)
	return string(text), err
}
