package chat

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options configure a channel.
type Options struct {
	URL          string // as shoutrrr has it: the service is the scheme; a secret
	AllowPrivate bool   // addresses that are not of the public internet
	Title        bool   // the notice's title is given beside the text
	Text         string // file of the template of the text; "" = the built-in one
	Version      string // of Tallyman, for the server to see
	Logger       *slog.Logger
	Now          func() time.Time // for signatures; nil = the time of day
}

// service is one kind of chat.
type service interface {
	// post makes the call that shows the message.
	post(m *message, now time.Time) (*post, error)
	// read judges the answer to a call whose status was a success.
	read(body []byte) error
}

// message is what is to be shown.
type message struct {
	id       string // of the notice
	title    string // "" = none; one line
	text     string
	priority int // 1 … 5
	resolved bool
}

// post is a call.
type post struct {
	method string // "" = POST
	url    string
	header map[string]string
	body   []byte
}

// opener reads the URL of a service.
type opener func(*url.URL) (service, error)

// services are those that can be used. What else shoutrrr knows is not compiled in; some of it writes to logs or speaks no HTTP.
func services() map[string]opener {
	return map[string]opener{
		"discord": openDiscord, "generic": openGeneric, "gotify": openGotify, "lark": openLark, "mattermost": openMattermost,
		"ntfy": openNtfy, "slack": openSlack, "teams": openTeams, "telegram": openTelegram, "wecom": openWeCom,
	}
}

// open reads the URL of a chat. No error shows anything of it but the scheme.
func open(raw string) (service, *url.URL, error) {
	if strings.ContainsAny(raw, " \t\r\n") {
		return nil, nil, errors.New("chat: the url is one URL, without spaces: a sink posts to one chat")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, nil, errors.New("chat: the url cannot be read")
	}
	kind, _, _ := strings.Cut(u.Scheme, "+")
	read, ok := services()[kind]
	if !ok {
		return nil, nil, fmt.Errorf("chat: there is no service %.20q: it is one of %s", kind, strings.Join(slices.Sorted(maps.Keys(services())), ", "))
	}
	s, err := read(u)
	if err != nil {
		return nil, nil, fmt.Errorf("chat: %s: %w", kind, err)
	}
	return s, u, nil
}

// errForm says how the URL of a service looks, in place of the library's words, which may show a secret.
func errForm(form string) error {
	return fmt.Errorf("the url has another form than %s; see docs/channels.md", form)
}

// only refuses parameters that the service does not have, so that none is ignored.
func only(u *url.URL, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return fmt.Errorf("no parameter is known, and the url has %.40q", name)
			}
			return fmt.Errorf("the parameter %.40q is not known: there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}
