package condition

// ColumnProblem tells why conditions cannot use a column of that name, or nil. The scanner folds
// names first.
func ColumnProblem(name string) error { return nil }
