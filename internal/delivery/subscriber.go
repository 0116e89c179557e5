package delivery

import (
	"maps"
	"regexp"
	"slices"
)

// Subscriber is an entry of the address book.
type Subscriber struct {
	ID       string            // user:<id> or role:<id>
	Name     string            // of the person or role, for a salutation; may be ""
	Language string            // of its texts, as "zh"; "" = the notice's text without a language
	Mail     []string          // addresses, as "Ann Lee <ann@example.com>" or "ann@example.com"; a role may have several
	Phone    string            // as its gateway wants it, such as +8613800000000
	Alias    string            // a name by which other systems know the subscriber
	Tags     []string          // groups of other systems, in no order
	Channels map[string]string // addresses in other channels by the name of the channel, such as a registration id of jpush
}

// The addresses that have a member of their own. Every other name is that of a channel.
const (
	AddressMail  = "mail"
	AddressPhone = "phone"
	AddressAlias = "alias"
)

var addressForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// IsAddress tells whether the text can name an address: mail, phone, alias or a channel.
func IsAddress(name string) bool { return addressForm.MatchString(name) }

// Address returns the address of that name: mail (the first one), phone, alias, or that of a channel. "" is none.
func (s *Subscriber) Address(name string) string {
	switch {
	case name == AddressMail && len(s.Mail) > 0:
		return s.Mail[0]
	case name == AddressPhone:
		return s.Phone
	case name == AddressAlias:
		return s.Alias
	default:
		return s.Channels[name]
	}
}

// Addresses names the addresses that the subscriber has, sorted.
func (s *Subscriber) Addresses() []string {
	names := append(slices.Collect(maps.Keys(s.Channels)), AddressMail, AddressPhone, AddressAlias)
	names = slices.DeleteFunc(names, func(name string) bool { return s.Address(name) == "" })
	slices.Sort(names)
	return names
}
