package api

import (
	"encoding/xml"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/notice"
	"tallyman/sinks/inbox/page"
)

// pageForm is a page as clients get it (docs/api.md). XML has unreadMore only where it is true.
type pageForm struct {
	XMLName    xml.Name           `json:"-" xml:"notices"`
	Notices    []notice.View      `json:"notices" xml:"notice" doc:"in the order of delivery" nullable:"false"`
	Changes    []noticeChangeForm `json:"changes" xml:"change" doc:"notices whose state another window of the user changed" nullable:"false"`
	Cursor     string             `json:"cursor" xml:"cursor,attr" doc:"poll with it as after to get what follows"`
	Unread     int                `json:"unread" xml:"unread,attr" doc:"unread notices of these subscribers, exact to 999"`
	UnreadMore bool               `json:"unreadMore" xml:"unreadMore,attr,omitempty" doc:"there are more than 999"`
	More       bool               `json:"more" xml:"more,attr" doc:"the page is full and more is there already"`
	Reset      bool               `json:"reset" xml:"reset,attr" doc:"the cursor does not hold any more: forget what you have, this is a fresh window"`
	ResetForm
}

// ResetForm says why a cursor does not hold any more. Of a page it is empty where the cursor does. It is exported so that the schema has its
// fields where it is embedded.
type ResetForm struct {
	Reason resetReason `json:"resetReason,omitempty" xml:"resetReason,attr,omitempty" doc:"why the cursor does not hold any more"`
	Missed *int        `json:"missed,omitempty" xml:"missed,attr,omitempty" minimum:"0" doc:"where it is known: how many notices were delivered after the cursor and will not come any more"`
}

func newResetForm(pg *page.Page) ResetForm {
	if !pg.Reset {
		return ResetForm{}
	}
	f := ResetForm{Reason: resetReason(pg.Reason)}
	if pg.Missed >= 0 {
		f.Missed = &pg.Missed
	}
	return f
}

// resetReason is a page.ResetReason whose schema names all of them.
type resetReason page.ResetReason

// Schema implements huma.SchemaProvider.
func (resetReason) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: "why the cursor does not hold any more"}
	for _, reason := range page.ResetReasons() {
		s.Enum = append(s.Enum, string(reason))
	}
	return s
}

// noticeChangeForm is a change of a notice's state.
type noticeChangeForm struct {
	ID   string `json:"id" xml:"id,attr"`
	Kind string `json:"kind" xml:"kind,attr" enum:"read,acked"`
}

func newPageForm(pg *page.Page, langs []string) *pageForm {
	form := &pageForm{
		Notices: localized(pg.Notices, langs), Changes: make([]noticeChangeForm, len(pg.Changes)), Cursor: pg.Cursor,
		Unread: pg.Unread, UnreadMore: pg.UnreadMore, More: pg.More, Reset: pg.Reset, ResetForm: newResetForm(pg),
	}
	for i, c := range pg.Changes {
		form.Changes[i] = noticeChangeForm{ID: c.ID, Kind: c.Kind}
	}
	return form
}

// localized returns the notices in the first of the languages that each has; the page may be shared, so it is left
// as it is.
func localized(views []notice.View, langs []string) []notice.View {
	if views == nil {
		return []notice.View{}
	}
	if len(langs) == 0 {
		return views
	}
	out := make([]notice.View, len(views))
	for i, v := range views {
		v.Notice = localize(v.Notice, langs)
		out[i] = v
	}
	return out
}

func localize(n *notice.Notice, langs []string) *notice.Notice {
	for _, lang := range langs {
		if l := n.Localize(lang); l != n {
			return l
		}
	}
	return n
}
