package scrub

import (
	"net/url"
	"strings"
)

// leastToken is the least length of a part of an address that may as well be a word, in bytes.
const leastToken = 8

// Address are an address as a whole and without the server, its password, and what its query says; each as it is written and as it is
// meant.
func Address(address string) []string {
	list := []string{address}
	u, err := url.Parse(address)
	if err != nil {
		return list
	}
	list = append(list, u.String())
	if password, ok := u.User.Password(); ok {
		list = append(list, password, u.User.String())
	}
	if path := u.RequestURI(); len(path) > leastToken {
		list = append(list, path, u.Path)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			if len(v) >= leastToken {
				list = append(list, v, url.QueryEscape(v))
			}
		}
	}
	return list
}

// Tokens are the long parts of a chat's address: services give user, host and path meanings of their own, and the library builds
// other addresses of them.
func Tokens(address string) []string {
	scheme, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?") // Address has the query
	var list []string
	for _, whole := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(":/@", r) }) {
		for _, part := range append(strings.Split(whole, "-"), whole) {
			isName := part == scheme || strings.Contains(part, ".")
			if plain, err := url.PathUnescape(part); err == nil && len(part) >= leastToken && !isName {
				list = append(list, part, plain)
			}
		}
	}
	return list
}
