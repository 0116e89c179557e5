package notice

import "strings"

// Localize returns the notice with title and body in the language of the tag, e.g. zh-CN: an exact
// translation, else one of the language without its region, else the notice as it is. A translation
// that lacks title or body leaves that one as it is. Tags compare without regard to case.
func (n *Notice) Localize(lang string) *Notice {
	for tag := lang; tag != ""; tag = parent(tag) {
		if t, ok := n.text(tag); ok {
			return n.with(t)
		}
	}
	return n
}

func (n *Notice) text(tag string) (Text, bool) {
	if t, ok := n.Texts[tag]; ok {
		return t, true
	}
	for lang, t := range n.Texts {
		if lang != "" && strings.EqualFold(lang, tag) {
			return t, true
		}
	}
	return Text{}, false
}

func (n *Notice) with(t Text) *Notice {
	c := *n
	if t.Title != "" {
		c.Title = t.Title
	}
	if t.Body != "" {
		c.Body = t.Body
	}
	return &c
}

// parent cuts the last part off a language tag: zh-Hant-TW, zh-Hant, zh, "".
func parent(tag string) string {
	i := strings.LastIndexAny(tag, "-_")
	if i < 0 {
		return ""
	}
	return tag[:i]
}
