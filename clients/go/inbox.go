package tallyman

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"tallyman/clients/go/api"
)

// Notice is a notice of an inbox.
type Notice = api.Notice

// Change says that the user has read or acked a notice, perhaps in another window.
type Change = api.NoticeChange

// Inbox is the inboxes of some subscribers in one warehouse.
type Inbox struct {
	Client      *Client
	Store       Store    // Keeps the cursor. [NewFileStore] makes a store.
	Warehouse   string   // May be empty if the token has one warehouse.
	Subscribers []string // Such as user:1 and role:keeper. Default: the subscribers of the token.
	Types       []string // Only notices of these types. Default: all types.
	Language    string   // Language of titles and bodies, as in Accept-Language.

	// OnReset is called when the cursor is no longer valid, before the notices of the last three days come again.
	// Follow leaves out the notices that were already handled. Default: a warning in the log. An error ends Follow.
	OnReset func(ctx context.Context, r Reset) error
	// OnChange is called for each change of an earlier notice. An error ends Follow.
	OnChange func(ctx context.Context, c Change) error
	Logger   *slog.Logger // Logs failed attempts. Default: slog.Default.
}

// Reset says why a cursor is no longer valid.
type Reset struct {
	Reason string // Such as index_rebuilt; docs/reference/api.md lists the reasons. bad_cursor = the service does not know the stored cursor.
	Missed *int64 // Number of notices that were delivered after the cursor and will not be sent any more; nil = unknown.
}

// Follow calls the handler for each notice, one after the other, until ctx ends. When the handler has returned nil,
// Follow saves the id of the notice, and with the last notice of a page the new cursor. So a handled notice comes again
// only if the process is killed or the save fails after the handler has returned.
//
// Follow repeats failed polls, with growing pauses or the pauses that the service asks for. Follow returns nil when ctx
// has ended. Follow returns an error if it cannot go on: after a refusal of the service (a [ProblemError]), or after an
// error of the handler, of OnReset, of OnChange or of the store. A later Follow goes on with the same notice.
func (in *Inbox) Follow(ctx context.Context, handle func(ctx context.Context, n Notice) error) error {
	if in.Store == nil {
		return errors.New("the inbox has no Store, so its cursor would be lost; use NewFileStore")
	}
	place, err := in.Store.Load(ctx)
	if err != nil {
		return err
	}
	f := &follower{Inbox: in, handle: handle, cursor: place.Cursor, handled: newMemory(place.Handled)}
	for ctx.Err() == nil {
		if err := f.turn(ctx); err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return nil
			}
			return err
		}
	}
	return nil
}

// follower is one run of Follow.
type follower struct {
	*Inbox

	handle  func(context.Context, Notice) error
	cursor  string
	etag    *string // Entity tag of the page with the cursor.
	handled *memory
}

// turn polls once and handles the page.
func (f *follower) turn(ctx context.Context) error {
	var page *api.Notices
	err := insist(ctx, f.warn, func(ctx context.Context) (err error) {
		page, err = f.poll(ctx)
		return err
	})
	var problem *ProblemError
	switch {
	case errors.As(err, &problem) && problem.Code == "bad_cursor" && f.cursor != "":
		f.cursor, f.etag = "", nil
		return f.reset(ctx, Reset{Reason: problem.Code})
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil || page == nil:
		return err
	}
	return f.take(ctx, page)
}

// poll polls once. The page is nil if nothing is new.
func (f *follower) poll(ctx context.Context) (*api.Notices, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+answerWithin)
	defer cancel()
	params := &api.PollNoticesParams{Wait: seconds(wait), IfNoneMatch: f.etag}
	params.Warehouse, params.After, params.AcceptLanguage = optional(f.Warehouse), optional(f.cursor), optional(f.Language)
	if len(f.Subscribers) > 0 {
		params.Subscriber = &f.Subscribers
	}
	if len(f.Types) > 0 {
		params.Type = &f.Types
	}
	resp, err := f.Client.API.PollNotices(ctx, params)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotModified {
		return nil, resp.Body.Close()
	}
	var page api.Notices
	if err := read(resp, &page); err != nil {
		return nil, err
	}
	f.etag = optional(resp.Header.Get("ETag"))
	return &page, nil
}

// take handles a page, and saves the cursor of the page together with the last notice.
func (f *follower) take(ctx context.Context, page *api.Notices) error {
	if page.Reset {
		r := Reset{Missed: page.Missed}
		if page.ResetReason != nil {
			r.Reason = string(*page.ResetReason)
		}
		if err := f.reset(ctx, r); err != nil {
			return err
		}
	}
	for _, c := range page.Changes {
		if f.OnChange == nil {
			break
		}
		if err := f.OnChange(ctx, c); err != nil {
			return err
		}
	}
	fresh := f.handled.without(page.Notices)
	for i, n := range fresh {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.handle(ctx, n); err != nil {
			return err
		}
		if i == len(fresh)-1 {
			f.cursor = page.Cursor
		}
		if err := f.save(ctx, n.Id); err != nil {
			return err
		}
	}
	if f.cursor == page.Cursor {
		return nil
	}
	f.cursor = page.Cursor
	return f.save(ctx, "")
}

// save saves a step, even if ctx has ended in the meantime: the handler has already done its work.
func (f *follower) save(ctx context.Context, handled string) error {
	now := time.Now()
	if handled != "" {
		f.handled.add(handled, now)
	}
	return f.Store.Save(context.WithoutCancel(ctx), Step{Cursor: f.cursor, Handled: handled, At: now})
}

func (f *follower) reset(ctx context.Context, r Reset) error {
	if f.OnReset != nil {
		return f.OnReset(ctx, r)
	}
	var missed any = "unknown"
	if r.Missed != nil {
		missed = *r.Missed
	}
	f.logger().Warn("Cursor is no longer valid. The notices of the last three days come again, without the notices that were handled.", "reason", r.Reason, "missed", missed)
	return nil
}

func (f *follower) warn(err error, pause time.Duration) {
	f.logger().Warn("Poll failed and is repeated. The cursor stays, and no notice is lost.", "error", err, "next_try_in", pause)
}

func (in *Inbox) logger() *slog.Logger {
	if in.Logger != nil {
		return in.Logger
	}
	return slog.Default()
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// memory has the ids of handled notices, for as long as Remember.
type memory struct {
	at     map[string]time.Time
	pruned time.Time
}

func newMemory(ids []string) *memory {
	m := &memory{at: map[string]time.Time{}, pruned: time.Now()}
	for _, id := range ids {
		m.at[id] = m.pruned
	}
	return m
}

func (m *memory) add(id string, now time.Time) {
	m.at[id] = now
	if now.Sub(m.pruned) < time.Hour {
		return
	}
	m.pruned = now
	for id, at := range m.at {
		if now.Sub(at) > Remember {
			delete(m.at, id)
		}
	}
}

// without returns the notices that were not handled yet.
func (m *memory) without(list []Notice) []Notice {
	var fresh []Notice
	for _, n := range list {
		if _, known := m.at[n.Id]; !known {
			fresh = append(fresh, n)
		}
	}
	return fresh
}
