package rules

// LoadAtMost is LoadFile that makes no more rules than that, each scope counted.
func LoadAtMost(most int, path string, src []byte) *Set {
	l := newLoader(most)
	l.file(path, src, true)
	return l.finish()
}

// ChecksumOf is the checksum of the rule as it is.
func ChecksumOf(r *Rule) string { return checksum(r) }
