package ledger

import (
	"context"
	"time"

	"tallyman/internal/silence"
)

// Token is an API token as the ledger keeps it: all but the secret.
type Token struct {
	ID          string // public; made of the hash
	Hash        []byte // SHA-256 of the secret
	Name        string // what it is for
	Subject     string // who uses it: user:ann, service:wms
	Access      []string
	Subscribers []string
	Warehouses  []string
	Created     time.Time
	CreatedBy   string
	Expires     time.Time // zero = never
	Used        time.Time // to the minute or so; zero = never
	Revoked     time.Time // zero = it is in force, unless it has expired
	RevokedBy   string
}

// Tokens keeps the API tokens. Its number is "tokens".
type Tokens interface {
	// AddToken adds it, created by who asks. ErrExists where there is one with its id.
	AddToken(ctx context.Context, who Author, t Token) error
	// ListTokens returns all, also those that are revoked or have expired, the latest first.
	ListTokens(ctx context.Context) ([]Token, error)
	// RevokeToken ends a token for good. It changes nothing where that is done already. ErrNotFound.
	RevokeToken(ctx context.Context, who Author, id string, at time.Time) error
	// UseTokens records when tokens were used last. Earlier times than are known, and tokens that are not there, change nothing; nor
	// does the number grow.
	UseTokens(ctx context.Context, used map[string]time.Time) error
	// ForgetTokens removes those that were revoked or expired before that time and returns how many.
	ForgetTokens(ctx context.Context, before time.Time) (int64, error)
}

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
