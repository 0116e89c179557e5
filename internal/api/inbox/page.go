package inbox

import (
	"tallyman/internal/api"
	"tallyman/internal/notice"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

func newResetForm(pg *page.Page) wire.ResetForm {
	if !pg.Reset {
		return wire.ResetForm{}
	}
	f := wire.ResetForm{Reason: wire.ResetReason(pg.Reason)}
	if pg.Missed >= 0 {
		f.Missed = &pg.Missed
	}
	return f
}

func newPageForm(pg *page.Page, langs []string) *wire.PageForm {
	form := &wire.PageForm{
		Notices: localized(pg.Notices, langs), Changes: make([]wire.NoticeChangeForm, len(pg.Changes)), Cursor: pg.Cursor,
		Unread: pg.Unread, UnreadMore: pg.UnreadMore, More: pg.More, Reset: pg.Reset, ResetForm: newResetForm(pg),
	}
	for i, c := range pg.Changes {
		form.Changes[i] = wire.NoticeChangeForm{ID: c.ID, Kind: c.Kind}
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
		v.Notice = api.Localize(v.Notice, langs)
		out[i] = v
	}
	return out
}
