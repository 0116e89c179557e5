package api

import (
	"tallyman/engine/trial/rulediff"
	"tallyman/internal/wire"
)

func newDraftForm(id string, d *Drafted) *wire.DraftForm {
	f := &wire.DraftForm{
		Rule: id, Scope: d.Scope, Problems: wire.NotNil(d.Problems), Fields: make([]wire.ChangedFieldForm, len(d.Changes)), Warnings: wire.NotNil(d.Warnings),
		Effect: newEffectForm(d.Effect), Notes: wire.NotNil(d.Notes),
	}
	for i, c := range d.Changes {
		f.Fields[i] = wire.ChangedFieldForm{Path: c.Field, Before: c.Old, After: c.New}
	}
	if d.Preview != nil {
		f.Preview = newPreviewForm(d.Preview)
	}
	return f
}

func newEffectForm(r *rulediff.Rule) *wire.EffectForm {
	if r == nil {
		return nil
	}
	e := r.Effect
	f := &wire.EffectForm{From: r.From, Running: newSideForm(r.Old), Draft: newSideForm(r.New), Compared: e != nil}
	if e == nil {
		e = &rulediff.Effect{}
	}
	for _, one := range []struct {
		from rulediff.Keys
		to   *wire.KeysForm
	}{
		{e.Fire, &f.Fire},
		{e.Pend, &f.Pend},
		{e.Resolve, &f.Resolve},
		{e.Keep, &f.Keep},
		{e.Drop, &f.Drop},
		{e.Unchanged, &f.Unchanged},
		{e.Again, &f.Again},
	} {
		*one.to = wire.KeysForm{Count: one.from.Count, Keys: wire.NotNil(one.from.Keys)}
	}
	return f
}

func newSideForm(s *rulediff.Side) *wire.SideForm {
	if s == nil {
		return nil
	}
	f := wire.SideForm(*s)
	return &f
}
