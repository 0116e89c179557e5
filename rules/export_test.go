package rules

// LoadAtMost is LoadFile with another bound for the number of rules, each scope counted.
func LoadAtMost(most int, path string, src []byte) *Set {
	l := newLoader(most)
	l.file(path, src, true)
	return l.finish()
}

// ChecksumOf returns the checksum of the rule in its present state.
func ChecksumOf(r *Rule) string { return checksum(r) }
