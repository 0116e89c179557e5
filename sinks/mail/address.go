package mail

import (
	"fmt"
	netmail "net/mail"
	"strings"
)

// addresses parses the addresses of a subscriber; bad names those that are none. One that is there twice counts once.
func addresses(list []string) (good []*netmail.Address, bad []string) {
	seen := map[string]bool{}
	for _, s := range list {
		a, err := netmail.ParseAddress(s)
		if err != nil || strings.ContainsAny(a.Address, "\r\n\x00<> ") {
			bad = append(bad, fmt.Sprintf("%.100q is no mail address", s))
			continue
		}
		if key := strings.ToLower(a.Address); !seen[key] {
			seen[key] = true
			a.Name = oneLine(a.Name)
			good = append(good, a)
		}
	}
	return good, bad
}
