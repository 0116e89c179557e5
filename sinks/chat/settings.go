package chat

import (
	"log/slog"
	"net/url"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
	"tallyman/sinks/scrub"
)

// TypeName is the name of the type.
const TypeName = "chat"

// Type is the type of sink that posts to a chat service.
var Type = sinks.Type{Name: TypeName, New: func() sinks.Settings { return NewSettings() }}

// The codes of problems in the settings.
const (
	CodePlaceholder = "bad_chat_address"
)

// Settings are the settings of a sink of this type.
type Settings struct {
	sinks.PushSettings `yaml:",inline"`

	URL          URL           `yaml:"url" doc:"the address of one chat, as slack://hook:TOKEN@webhook; kept secret"`
	AllowPrivate bool          `yaml:"allow_private" doc:"the service may be in the own network or on this machine"`
	Title        bool          `yaml:"title" doc:"send the notice's title with the text"`
	Text         settings.File `yaml:"text" doc:"a template of the text, instead of the built-in one"`
	Each         string        `yaml:"each" enum:"user" doc:"user = a message for each recipient, instead of one for all"`
	Address      string        `yaml:"address" doc:"mail, phone, alias, or the name of a channel in the address book; the recipient's address replaces {address} in the url; needs each: user"`
	Mention      string        `yaml:"mention" doc:"phone, or the name of a channel in the address book; the message mentions a recipient by that entry"`
}

// NewSettings returns the default settings.
func NewSettings() *Settings {
	return &Settings{PushSettings: sinks.NewPushSettings(TypeName), Title: true}
}

// Check implements strictyaml.Checker. New checks the URL of the service, since only New knows the services.
func (s *Settings) Check(at settings.Section) {
	where := at.In("url")
	if settings.IsOpen(where) {
		return
	}
	if s.URL.Reveal() == "" {
		at.Missing("url")
		return
	}
	if u, err := url.Parse(fill(s.URL.Reveal(), samples[0])); err != nil || u.Scheme == "" || u.Opaque != "" {
		where.Fail(settings.CodeURL, where.String()+" is no address of a chat", "for example slack://hook:TOKEN@webhook; docs/how-to/channels.md has one for each service")
	}
	s.checkAddress(at)
}

// checkAddress checks the settings that use the address book.
func (s *Settings) checkAddress(at settings.Section) {
	for _, field := range [][2]string{{"address", s.Address}, {"mention", s.Mention}} {
		if where := at.In(field[0]); field[1] != "" && !delivery.IsAddress(field[1]) {
			where.Fail(settings.CodeBook, where.String()+" names no address of the address book", "mail, phone, alias, or the name of a channel, such as telegram")
		}
	}
	has, where := strings.Contains(s.URL.Reveal(), placeholder), at.In("address")
	switch {
	case s.Address != "" && s.Each == "":
		where.FailName(CodePlaceholder, where.String()+" is for messages to one recipient each", "each: user")
	case s.Address != "" && !has:
		where.FailName(CodePlaceholder, where.String()+" replaces {address}, but the url has no {address}", "for example telegram://TOKEN@telegram?chats={address}")
	case s.Address == "" && has:
		at.Missing("address")
	}
}

// IsEach implements sinks.ChannelSettings.
func (s *Settings) IsEach() bool { return s.Each != "" }

// NeedsAddress implements sinks.ChannelSettings.
func (s *Settings) NeedsAddress() string { return s.Address }

// SecretTexts implements sinks.Settings.
func (s *Settings) SecretTexts() []string {
	return append(scrub.Address(s.URL.Reveal()), scrub.Tokens(s.URL.Reveal())...)
}

// Open implements sinks.ChannelSettings.
func (s *Settings) Open(site sinks.Site) (sinks.Channel, error) {
	return sinks.Opened(New(Options{
		URL: s.URL.Reveal(), AllowPrivate: s.AllowPrivate, Title: s.Title, Text: string(s.Text), Version: site.Version, Logger: site.Logger,
		Each: s.Each != "", Address: s.Address, Mention: s.Mention, Book: site.Book,
	}))
}

// URL is the address of one chat, in the form of shoutrrr: the scheme names the service.
type URL struct{ settings.Secret }

// DecodeYAML refuses a list with a problem of its own, because a sink posts to one chat.
func (u *URL) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind == strictyaml.Sequence {
		d.Fail(n, settings.CodeURL, name+" is a list: a sink posts to one chat", "make a sink of each, and name them in the rule")
		return
	}
	u.Secret.DecodeYAML(d, name, n)
}

// Options has everything that a chat channel is made of.
type Options struct {
	URL          string // the address in the form of shoutrrr, whose scheme names the service; a secret
	AllowPrivate bool   // allows addresses outside of the public internet
	Title        bool   // shows the title of the notice beside the text
	Text         string // the file of the text template; "" = the built-in one
	Version      string // the version of Tallyman in the User-Agent
	Logger       *slog.Logger

	Each             bool               // true = each delivery is for one recipient
	Address, Mention string             // which addresses of the address book are used; "" = none
	Book             delivery.Addresses // needed if Each, Address or Mention is set

	Now func() time.Time // the clock for signatures; nil = time.Now
}
