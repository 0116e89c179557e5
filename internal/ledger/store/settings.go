package store

import (
	"context"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
)

// QueueSettings implements item.SettingsRecord.
func (s *queueStore) QueueSettings(ctx context.Context, queue string) (item.LiveSettings, error) {
	return queueSettingsOf(ctx, s.db, queue)
}

func queueSettingsOf(ctx context.Context, c Conn, queue string) (item.LiveSettings, error) {
	row := codec.NewQueueSettings()
	if _, err := c.One(ctx, "queue-settings", []any{queue}, row.Columns()...); err != nil {
		return item.LiveSettings{}, err
	}
	return row.Settings()
}

// ChangeQueueSettings implements item.SettingsRecord.
func (s *queueStore) ChangeQueueSettings(ctx context.Context, o *item.Order, queue string, c item.SettingsChange) error {
	return s.change(ctx, "change queue settings", ledger.Author{By: o.By, Via: ledger.Via(o.Via)}, func(tx Conn) (*ledger.Change, error) {
		before, err := queueSettingsOf(ctx, tx, queue)
		if err != nil {
			return nil, err
		}
		after := c.Apply(before)
		if after.Equal(&before) {
			return nil, nil //nolint:nilnil // nothing changed
		}
		args, err := codec.QueueSettingsArgs(&after)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "set-queue-settings", append([]any{queue}, args...)...); err != nil {
			return nil, err
		}
		return record.QueueSettingsChanged(queue, &before, &after), count(ctx, tx, "queue_settings")
	})
}
