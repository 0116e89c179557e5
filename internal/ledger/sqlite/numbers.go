package sqlite

import "context"

// Numbers implements ledger.Numbers.
func (l *Ledger) Numbers(ctx context.Context) (map[string]int64, error) {
	numbers := map[string]int64{}
	var name string
	var value int64
	err := each(ctx, l.read, "numbers", nil, []any{&name, &value}, func() error {
		numbers[name] = value
		return nil
	})
	if err != nil {
		return nil, failed("numbers", err)
	}
	return numbers, nil
}
