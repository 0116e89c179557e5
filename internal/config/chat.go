package config

import (
	"fmt"
	"net/url"
	"strconv"
)

// ChatSink is what a sink of type chat has beside what every push channel has.
type ChatSink struct {
	URL          Secret // as shoutrrr has it: the service is the scheme
	AllowPrivate bool   // addresses that are not of the public internet
	Title        bool   // the notice's title is given beside the text
	Text         string // the template of the text, a file, absolute; "" = the built-in one
}

func defaultChat() *ChatSink { return &ChatSink{Title: true} }

func (c *ChatSink) fields() map[string]field {
	return map[string]field{
		"url": func(d *decoder, at path, v any) {
			if list, isList := v.([]any); isList {
				for i, item := range list {
					d.hide(at.to(strconv.Itoa(i)), item)
				}
				d.fail(at, CodeURL, at.String()+" is a list: a sink posts to one chat", "make a sink of each, and name them in the rule")
				return
			}
			hidden(&c.URL)(d, at, v)
		},
		"allow_private": yesNo(&c.AllowPrivate),
		"title":         yesNo(&c.Title),
		"text":          file(&c.Text),
	}
}

// checkChat leaves the services to the sink, which knows them.
func (d *decoder) checkChat(at path, c *ChatSink) {
	where := at.to("url")
	if d.open.has(where) {
		return
	}
	if c.URL.Reveal() == "" {
		d.missing(at, "url")
		return
	}
	if u, err := url.Parse(c.URL.Reveal()); err != nil || u.Scheme == "" || u.Opaque != "" {
		d.fail(where, CodeURL, fmt.Sprintf("%s is no address of a chat", where), "for example slack://hook:TOKEN@webhook; docs/channels.md has one for each service")
	}
}
