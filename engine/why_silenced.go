package engine

import (
	"strings"

	"tallyman/rules"
)

// silences says which silences hold it back, and until when.
func (h *holder) silences() {
	w := h.w
	if w.Rule.Shadow && w.Promoted.IsZero() {
		return // see pass.silenced
	}
	typ, warehouse := h.aboutWhat()
	if typ == "" {
		typ, warehouse = w.Rule.Notice.Type, w.Rule.Scope
	}
	holding := h.e.opts.Silencer.Holding(w.Asked, subjectOf(w.Rule, typ, warehouse))
	does := "holds back what there is to tell"
	if w.Rule.Mode == rules.ModeEvent {
		does = "drops new rows"
	}
	for _, s := range holding {
		name := s.ID
		if s.Comment != "" {
			name += " (" + s.Comment + ")"
		}
		h.hold("silenced", "silence %s %s until %s", name, does, stamp(s.Until))
	}
	if len(holding) > 0 {
		h.quiet = holding[0].Until
	} else if f := w.Finding; f != nil && f.Silenced != "" {
		h.hold("was_silenced", "%s held back what the last run had to tell; the next run tells it", silenceNames(f.Silenced))
	}
}

// aboutWhat is the type and the warehouse of what would be told, "" where neither the row nor a notice says that.
func (h *holder) aboutWhat() (typ, warehouse string) {
	if l := h.w.Look; l != nil && l.Type != "" {
		return l.Type, l.Warehouse
	}
	if len(h.w.Told) > 0 {
		return h.w.Told[0].Notice.Type, h.w.Told[0].Notice.Warehouse
	}
	return "", ""
}

func silenceNames(ids string) string {
	list := strings.Fields(ids)
	if len(list) == 1 {
		return "silence " + list[0]
	}
	return "the silences " + strings.Join(list, ", ")
}
