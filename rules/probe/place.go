package probe

import (
	"strings"
	"unicode/utf8"
)

// Place maps a place in the SQL that Render gives a driver back to the text as it was written; both count characters from 1.
// Inside a parameter it is the parameter's beginning. 0 where the place is not in the SQL.
func (s *Statement) Place(style Style, at int) int {
	written, rendered := 0, 0 // bytes of Text, and characters of the SQL, before the piece
	for i, p := range s.pieces {
		if strings.HasPrefix(p.text, ":") && strings.HasPrefix(s.Text[written:], `\`) {
			written++
		}
		upTo := *s
		upTo.pieces = s.pieces[:i+1]
		sql, _ := upTo.Render(style)
		if end := utf8.RuneCountInString(sql); at > end {
			rendered = end
			written += len(p.text)
			if p.param != "" {
				written += len(":" + p.param)
			}
			continue
		}
		place := utf8.RuneCountInString(s.Text[:written]) + 1
		if p.param == "" && at > 0 {
			place += at - rendered - 1
		}
		return place
	}
	return 0
}
