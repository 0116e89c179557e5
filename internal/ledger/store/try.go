package store

import "context"

// TryCommit implements ledger.Server.
func (b *base) TryCommit(ctx context.Context) error {
	return b.db.InTx(ctx, "try a commit", func(tx Conn) error {
		for _, name := range []string{"try-scope", "try-firing", "end-try-firing", "end-try-scope"} {
			if _, err := tx.Exec(ctx, name); err != nil {
				return err
			}
		}
		return nil
	})
}
