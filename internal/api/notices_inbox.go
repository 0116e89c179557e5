package api

import (
	"context"

	"tallyman/sinks/inbox/page"
)

// Inbox answers polls from the index. Its errors are those of package page. Version and Poll end within seconds, with
// page.ErrUnavailable at the latest.
type Inbox interface {
	// Version is what Poll would give as the page's version, for much less.
	Version(ctx context.Context, q page.Query) (string, error)
	Poll(ctx context.Context, q page.Query) (page.Page, error)
	// Wait returns nil as soon as the version is another one, and the context's error when that ends first.
	Wait(ctx context.Context, q page.Query, version string) error
	// Watch calls news whenever one of the subscribers may have something new, until stop is called. news returns at once.
	Watch(warehouse string, subscribers []string, news func()) (stop func())
}
