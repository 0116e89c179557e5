package ledger

import (
	"context"
	"time"

	"tallyman/internal/silence"
)

// Silences keeps what is not told for a while. Their number in Numbers is "silences".
type Silences interface {
	// AddSilence adds a silence, whose author is who asks. ErrExists.
	AddSilence(ctx context.Context, who Author, s *silence.Silence) error
	// EndSilence ends it before its time and makes the deliveries due that it has held back. It changes nothing where it has ended, and
	// tells whether it had not. ErrNotFound.
	EndSilence(ctx context.Context, who Author, id string, at time.Time) (ended bool, err error)
	// Silence returns one. ErrNotFound.
	Silence(ctx context.Context, id string) (silence.Silence, error)
	// Silences returns all that are kept, the latest first.
	Silences(ctx context.Context) ([]silence.Silence, error)
	// HeldBack counts what each silence holds back now, by its id.
	HeldBack(ctx context.Context) (map[string]HeldBack, error)
}

// HeldBack is how much a silence holds back. What several hold back counts for each of them, but of deliveries, which one holds.
type HeldBack struct {
	Findings   int
	Deliveries int // to push channels
}
