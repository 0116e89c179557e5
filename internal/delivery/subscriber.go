package delivery

import (
	"maps"
	"regexp"
	"slices"
)

// Subscriber is an entry of the address book.
type Subscriber struct {
	ID   string // user:<id> or role:<id>
	Name string // name of the person or role, for a salutation; may be ""
	// Language of the subscriber's texts, such as "zh"; "" = the notice's text without a language.
	Language string
	// addresses, as "Ann Lee <ann@example.com>" or "ann@example.com"; a role may have several
	Mail     []string
	Phone    string            // in the form that the gateway wants, such as +8613800000000
	Alias    string            // a name by which other systems know the subscriber
	Tags     []string          // groups of other systems, in no order
	Channels map[string]string // addresses in other channels by the channel's name, such as a registration id of jpush
}

// The addresses that have a field of their own in Subscriber. Every other name is the name of a channel.
const (
	AddressMail  = "mail"
	AddressPhone = "phone"
	AddressAlias = "alias"
)

var addressForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// IsAddress tells whether the text can name an address: mail, phone, alias or a channel.
func IsAddress(name string) bool { return addressForm.MatchString(name) }

// Address returns the address with this name: the first mail address, the phone, the alias, or the address in a
// channel. Address returns "" where the subscriber has none.
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

// Addresses returns the sorted names of the addresses that the subscriber has.
func (s *Subscriber) Addresses() []string {
	names := append(slices.Collect(maps.Keys(s.Channels)), AddressMail, AddressPhone, AddressAlias)
	names = slices.DeleteFunc(names, func(name string) bool { return s.Address(name) == "" })
	slices.Sort(names)
	return names
}
