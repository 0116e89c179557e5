package config

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// SecretTexts are the texts of the sinks that nobody may see, and the parts of them that libraries and other people's servers
// repeat in errors. The longest come first: where one is a part of another, the whole is taken out.
func SecretTexts(sinks map[string]Sink) []string {
	var list []string
	for _, s := range sinks {
		list = append(list, s.secretTexts()...)
	}
	list = slices.DeleteFunc(list, func(s string) bool { return len(s) < leastSecret })
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(list)
}

const (
	leastSecret = 4 // bytes: what is shorter is found in too many innocent texts
	leastToken  = 8 // of a part of an address that may as well be a word
)

func (s *Sink) secretTexts() []string {
	var list []string
	if w := s.Webhook; w != nil {
		list = append(list, addressTexts(w.URL.Reveal())...)
		for _, one := range w.Secrets {
			list = append(list, one.Reveal(), strings.TrimPrefix(one.Reveal(), signingPrefix))
		}
		for _, value := range w.Headers {
			list = append(list, value.Reveal())
			if _, credentials, ok := strings.Cut(value.Reveal(), " "); ok { // Bearer …, Basic …
				list = append(list, credentials)
			}
		}
	}
	if s.Mail != nil {
		list = append(list, s.Mail.Password.Reveal())
	}
	if s.Chat != nil {
		list = append(list, addressTexts(s.Chat.URL.Reveal())...)
		list = append(list, tokens(s.Chat.URL.Reveal())...)
	}
	return list
}

// addressTexts are an address as a whole and without the server, its password, and what its query says; each as it is written and as it is
// meant.
func addressTexts(address string) []string {
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

// tokens are the long parts of a chat's address: services give user, host and path meanings of their own, and the library builds
// other addresses of them.
func tokens(address string) []string {
	scheme, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?") // addressTexts has the query
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
