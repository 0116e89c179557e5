package inbox

import (
	"context"
	"errors"

	"tallyman/internal/notice"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// Summary answers what a small window shows of the query's inboxes, from Redis alone. Its errors are Poll's.
func (in *Inbox) Summary(ctx context.Context, q page.Query) (page.Summary, error) {
	q.After, q.Since, q.Limit = "", 0, page.Latest
	r, err := newReader(q)
	if err != nil {
		return page.Summary{}, err
	}
	var sum page.Summary
	err = in.keeper.Serve(ctx, func(ctx context.Context, g *recovery.Generation) error {
		sum, err = in.summarize(ctx, g, r)
		return err
	})
	return sum, err
}

func (in *Inbox) summarize(ctx context.Context, g *recovery.Generation, r *reader) (page.Summary, error) {
	s, err := in.slice(ctx, g, r, position{mode: "latest"})
	if err != nil {
		return page.Summary{}, err
	}
	sum := page.Summary{
		Unread: min(s.count, maxUnread), UnreadMore: s.count > maxUnread, Version: version(g.Epoch, s.clock, s.sweeps, r.hash),
		Latest: in.views(r, s.now, s.entries),
	}
	if s.clock == 0 { // there was never a notice
		return sum, nil
	}
	open, err := in.popups(ctx, g, r)
	if err != nil {
		return sum, err
	}
	sum.Popups = in.views(r, s.now, open)
	sum.PopupsMore = len(sum.Popups) > page.MaxPopups
	sum.Popups = sum.Popups[:min(len(sum.Popups), page.MaxPopups)]
	return sum, nil
}

// views returns the notices of the entries that are there and have not expired.
func (in *Inbox) views(r *reader, now int64, entries []sliceEntry) []notice.View {
	out := make([]notice.View, 0, len(entries))
	for _, e := range entries {
		if v, ok := in.view(r, now, e); ok {
			out = append(out, v)
		}
	}
	return out
}

// popups calls popups.lua until it has found enough or has looked through everything.
func (in *Inbox) popups(ctx context.Context, g *recovery.Generation, r *reader) ([]sliceEntry, error) {
	keys := []string{in.keys.clock(r.Warehouse), in.keys.notices(r.Warehouse), in.keys.expiry(r.Warehouse), in.keys.popups(r.Warehouse)}
	for _, s := range r.Subscribers {
		keys = append(keys, in.keys.inbox(r.Warehouse, s))
	}
	keys = in.readerKeys(keys, r)
	var open []sliceEntry
	for above := "0"; above != "" && len(open) <= page.MaxPopups; {
		args := []any{g.Epoch, in.now(), flag(r.user != ""), page.MaxPopups + 1 - len(open), maxBytes, above}
		for _, s := range r.Subscribers {
			args = append(args, s)
		}
		reply, err := in.look(ctx, g, r, in.scripts.popups, keys, args...)
		if err != nil {
			_, err = in.sliceFailed(ctx, g, r, err)
			return nil, err
		}
		if len(reply) == 0 {
			return nil, errors.New("inbox: popups.lua answered nothing")
		}
		p := parser{reply: reply}
		above = p.text(0)
		open = append(open, p.entries(1)...)
		if p.err != nil {
			return nil, p.err
		}
	}
	return open, nil
}
