package store

import (
	"context"
	"sync"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
)

// lineageStore is ledger.Lineage.
type lineageStore struct{ *base }

// GrowBranch implements ledger.BranchKeeper.
func (s *lineageStore) GrowBranch(ctx context.Context, branch string, number int64) error {
	if number == 1 {
		_, err := s.db.Exec(ctx, "begin-branch", branch, s.NowArg())
		return err
	}
	n, err := s.db.Exec(ctx, "grow-branch", branch, number, s.NowArg())
	if err == nil && n == 0 {
		return ledger.ErrForked
	}
	return err
}

// HasBranch implements ledger.BranchKeeper.
func (s *lineageStore) HasBranch(ctx context.Context, branch string, number int64) (bool, error) {
	var found int64
	return s.db.One(ctx, "has-branch", []any{branch, number}, &found)
}

// Incarnation implements ledger.BranchKeeper.
func (s *lineageStore) Incarnation() int64 { return s.Servers.incarnation() }

// ForgetRows implements ledger.BranchKeeper.
func (s *lineageStore) ForgetRows() { s.IDs.forget() }

// AddRestore implements ledger.RestoreRecord.
func (s *lineageStore) AddRestore(ctx context.Context, who ledger.Author, r *ledger.Restore) error {
	return s.change(ctx, "add restore", who, func(tx Conn) (*ledger.Change, error) {
		if _, err := tx.Exec(ctx, "set-restored", s.NowArg()); err != nil {
			return nil, err
		}
		return record.Restored(r), nil
	})
}

// Origins implements delivery.InboxRecord.
func (s *inboxStore) Origins(ctx context.Context, seqs []int64) (map[int64]delivery.Origin, error) {
	found := make(map[int64]delivery.Origin, len(seqs))
	var seq, created int64
	var o delivery.Origin
	err := s.db.Each(ctx, "origins", []any{seqs}, []any{&seq, &o.Notice, &created}, func() error {
		o.Created = codec.Time(created)
		found[seq] = o
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Servers counts how often connections began to lead to another database.
type Servers struct {
	mu    sync.Mutex
	last  string
	count int64
}

// Connected takes the identity of the database that a new connection leads to. Connected returns true where the
// previous connection led to another one.
func (s *Servers) Connected(identity string) (other bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	other = s.last != "" && identity != s.last
	if other {
		s.count++
	}
	s.last = identity
	return other
}

func (s *Servers) incarnation() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
