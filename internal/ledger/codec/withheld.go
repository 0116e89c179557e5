package codec

import (
	"encoding/json"

	"tallyman/internal/item"
)

// Withholdings is the plan of one call of WithholdItems.
type Withholdings struct {
	Seqs []int64

	rows  []withheldRow
	bySeq map[int64]*item.Withheld
	was   Standing // the row that was scanned last
}

// withheldRow is one item in the form of the statements.
type withheldRow struct {
	Seq   int64  `json:"seq"`
	Moves int64  `json:"moves"`
	At    int64  `json:"at"`
	Trail string `json:"trail"`
}

// NewWithholdings plans the call.
func NewWithholdings(list []item.Withheld) *Withholdings {
	w := &Withholdings{Seqs: make([]int64, len(list)), bySeq: make(map[int64]*item.Withheld, len(list))}
	for i := range list {
		w.Seqs[i] = list[i].Seq
		w.bySeq[list[i].Seq] = &list[i]
	}
	return w
}

// Begin drops the rows of an earlier run of the transaction.
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

// Rows returns the items as JSON; "" = no items.
func (w *Withholdings) Rows() (string, error) {
	if len(w.rows) == 0 {
		return "", nil
	}
	text, err := json.Marshal(w.rows)
	return string(text), err
}
