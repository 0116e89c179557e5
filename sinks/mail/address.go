package mail

import (
	"fmt"
	netmail "net/mail"
	"strings"
	"unicode"

	"tallyman/sinks/render"
)

// addresses parses the addresses of a subscriber; bad names those that are none. One that is there twice counts once.
func addresses(list []string) (good []*netmail.Address, bad []string) {
	seen := map[string]bool{}
	for _, s := range list {
		a, err := netmail.ParseAddress(s)
		if err != nil || !validAddress(a.Address) {
			bad = append(bad, fmt.Sprintf("%.100q is no mail address", s))
			continue
		}
		if key := strings.ToLower(a.Address); !seen[key] {
			seen[key] = true
			a.Name = render.OneLine(a.Name)
			good = append(good, a)
		}
	}
	return good, bad
}

// validAddress tells whether an address without a name may stand in a command of SMTP.
func validAddress(a string) bool {
	at := strings.LastIndexByte(a, '@')
	return at > 0 && at < len(a)-1 && len(a) <= 254 && !strings.ContainsFunc(a, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '<' || r == '>'
	})
}
