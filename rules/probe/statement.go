package probe

// Statement is the SQL of a rule, cut at its parameters.
type Statement struct {
	Text   string   // as written
	Params []string // names in order of first appearance
	// Kinds says what is known of a parameter before any database is asked: built-in timestamps are "time".
	Times     map[string]bool // :now, :scheduled_at, :last_run_at, :until
	Watermark []string        // columns of the watermark; :wm_<column> has that column's type
}
