package ledger

import (
	"context"
	"fmt"
	"maps"
	"net/mail"
	"regexp"
	"slices"

	"tallyman/internal/delivery"
	"tallyman/internal/text"
	"tallyman/rules/catalog"
)

// Catalogue holds the types of notices, the subscriptions, and the addresses of the subscribers. It also holds the
// lists that the queries of sources return.
type Catalogue interface {
	TypeKeeper
	SubscriptionKeeper
	Audience
	Book
	OriginKeeper
	SubscriptionSyncer
	ScopeKeeper
	// SeedTypes adds the types that the ledger does not have yet. SeedTypes changes no existing type.
	SeedTypes(ctx context.Context, who Author, types catalog.Catalog) (added int, err error)
	// SeedSubscriptions adds the subscriptions if the ledger never had any. ErrNotFound for an unknown type.
	SeedSubscriptions(ctx context.Context, who Author, subs []Subscription) (added int, err error)
}

// TypeKeeper keeps the types of notices.
type TypeKeeper interface {
	TypeReader
	// PutType adds or replaces a type. ErrExists when another type has its numeric id.
	PutType(ctx context.Context, who Author, t catalog.Type) error
	// DeleteType removes a type and its subscriptions. ErrNotFound.
	DeleteType(ctx context.Context, who Author, code string) error
}

// SubscriptionKeeper keeps who has subscribed to what.
type SubscriptionKeeper interface {
	SubscriptionReader
	// AddSubscriptions adds subscriptions in one transaction, with one record of the new ones, and returns how many
	// were new. ErrNotFound for an unknown type; ErrInvalid. After an error none is added.
	AddSubscriptions(ctx context.Context, who Author, subs []Subscription) (added int, err error)
	// RemoveSubscription removes a subscription. ErrNotFound; ErrHasOrigin where the source would list it again.
	RemoveSubscription(ctx context.Context, who Author, s Subscription) error
}

// CatalogueReader reads the types and the subscriptions as the next commit on any node uses them.
type CatalogueReader interface {
	TypeReader
	Audience
	SubscriptionReader
}

// SubscriptionReader reads who has subscribed to what.
type SubscriptionReader interface {
	// Subscriptions returns the subscriptions that match the filter, by type, warehouse and subscriber.
	Subscriptions(ctx context.Context, f SubscriptionFilter) ([]Subscription, error)
}

// TypeReader reads the types of notices.
type TypeReader interface {
	Types(ctx context.Context) (catalog.Catalog, error)
	// TypesVersion grows with every change of a type. Nodes read it before they compile rules or render notices.
	TypesVersion(ctx context.Context) (int64, error)
}

// Audience says who receives a notice.
type Audience interface {
	// Recipients returns, sorted, the subscribers to whom a commit would send a notice of the type in the warehouse.
	Recipients(ctx context.Context, typ, warehouse string) ([]string, error)
}

// Subscription says that a subscriber wants the notices of a type in a warehouse, or in all warehouses. The ledger has
// each subscription once, whatever its origin.
type Subscription struct {
	Type       string `json:"type" yaml:"type" doc:"code of a type in the catalogue"`
	Warehouse  string `json:"warehouse" yaml:"warehouse" doc:"a warehouse, or * for all"`
	Subscriber string `json:"subscriber" yaml:"subscriber" doc:"user:<id> or role:<id>"`
	Origin     string `json:"origin,omitempty" yaml:"origin" doc:"the source whose query returns it; absent where it was made by hand"`
}

var (
	subscriberForm = regexp.MustCompile(`^(user|role):[A-Za-z0-9][A-Za-z0-9_.@-]{0,127}$`)
	warehouseForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
)

// Validate returns an ErrInvalid that names the malformed part. Validate does not check that the catalogue has the
// type.
func (s Subscription) Validate() error {
	if s.Type == "" {
		return fmt.Errorf("%w: a subscription needs a type", ErrInvalid)
	}
	if s.Warehouse != "*" && !warehouseForm.MatchString(s.Warehouse) {
		return fmt.Errorf("%w: %q is no warehouse", ErrInvalid, s.Warehouse)
	}
	if !subscriberForm.MatchString(s.Subscriber) {
		return fmt.Errorf("%w: %q is no subscriber; write user:<id> or role:<id>", ErrInvalid, s.Subscriber)
	}
	return nil
}

// SubscriptionFilter narrows a list; "" is any. After and Limit page in the order type, warehouse, subscriber.
type SubscriptionFilter struct {
	Type, Warehouse, Subscriber string
	After                       *Subscription
	Limit                       int // 0 = all
}

// Book is the address book: it has the addresses at which push channels reach the subscribers.
type Book interface {
	// PutSubscriber adds or replaces an entry. ErrInvalid.
	PutSubscriber(ctx context.Context, who Author, s delivery.Subscriber) (added bool, err error)
	// DeleteSubscriber removes an entry; the subscriber's subscriptions stay. ErrNotFound.
	DeleteSubscriber(ctx context.Context, who Author, id string) error
	// ListSubscribers pages through the book in the order of ids, after "after".
	ListSubscribers(ctx context.Context, after string, limit int) ([]delivery.Subscriber, error)
	delivery.Addresses
}

// The bounds of an entry of the address book.
const (
	maxSubscriberName = 200 // characters
	maxMailAddresses  = 50
	maxMailAddress    = 320 // bytes, with the name before it
	maxAlias          = 200 // bytes
	maxTags           = 50
	maxTag            = 100 // bytes
	maxChannels       = 20
	maxChannelAddress = 2000 // bytes; tokens of push services are long
)

var phoneForm = regexp.MustCompile(`^\+?[0-9(][0-9 ()./-]{1,38}[0-9]$`)

// SubscriberFault is one fault in an entry of the address book. Field is the name of the part in JSON, as "mail[1]".
type SubscriberFault struct{ Field, Message string }

// CheckSubscriber returns an ErrInvalid that names the first fault of the entry.
func CheckSubscriber(s *delivery.Subscriber) error {
	for _, f := range SubscriberFaults(s) {
		return fmt.Errorf("%w: %s of a subscriber: %s", ErrInvalid, f.Field, f.Message)
	}
	return nil
}

// SubscriberFaults returns all faults of an entry.
func SubscriberFaults(s *delivery.Subscriber) []SubscriberFault {
	var list []SubscriberFault
	fail := func(field, format string, args ...any) {
		list = append(list, SubscriberFault{field, fmt.Sprintf(format, args...)})
	}
	if !subscriberForm.MatchString(s.ID) {
		fail("id", "%q is no subscriber; write user:<id> or role:<id>", s.ID)
	}
	if n := len([]rune(s.Name)); n > maxSubscriberName {
		fail("name", "it has %d characters; at most %d are allowed", n, maxSubscriberName)
	}
	if fault := text.Check(s.Name, text.Line); fault != nil {
		fail("name", "%v", fault)
	}
	if s.Language != "" && !catalog.IsLanguage(s.Language) {
		fail("language", "%q is no language; write a code such as en, zh or pt-BR", s.Language)
	}
	if len(s.Mail) > maxMailAddresses {
		fail("mail", "it has %d addresses; at most %d are allowed", len(s.Mail), maxMailAddresses)
		return list
	}
	for i, address := range s.Mail {
		if fault := mailFault(address); fault != "" {
			fail(fmt.Sprintf("mail[%d]", i), "%s", fault)
		}
	}
	if s.Phone != "" && !phoneForm.MatchString(s.Phone) {
		fail("phone", "it is no phone number; write 3 to 40 characters: an optional +, then digits, with spaces or -()./ between them, such as +8613800000000")
	}
	if fault := lineFault(s.Alias, maxAlias); s.Alias != "" && fault != "" {
		fail("alias", "%s", fault)
	}
	return append(append(list, tagFaults(s.Tags)...), channelFaults(s.Channels)...)
}

func tagFaults(tags []string) []SubscriberFault {
	if len(tags) > maxTags {
		return []SubscriberFault{{"tags", fmt.Sprintf("it has %d tags; at most %d are allowed", len(tags), maxTags)}}
	}
	var list []SubscriberFault
	for i, tag := range tags {
		fault := lineFault(tag, maxTag)
		if fault == "" && slices.Contains(tags[:i], tag) {
			fault = "it appears twice"
		}
		if fault != "" {
			list = append(list, SubscriberFault{fmt.Sprintf("tags[%d]", i), fault})
		}
	}
	return list
}

func channelFaults(channels map[string]string) []SubscriberFault {
	if len(channels) > maxChannels {
		return []SubscriberFault{{"channels", fmt.Sprintf("it has %d channels; at most %d are allowed", len(channels), maxChannels)}}
	}
	var list []SubscriberFault
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		switch fault := lineFault(channels[name], maxChannelAddress); {
		case !delivery.IsAddress(name):
			list = append(list, SubscriberFault{"channels", text.Quote(name) + " is no name of a channel; write a to z, 0 to 9, - and _, such as jpush"})
		case name == delivery.AddressMail || name == delivery.AddressPhone || name == delivery.AddressAlias:
			list = append(list, SubscriberFault{"channels." + name, "write this address as the member " + name + " of the subscriber, not in channels"})
		case fault != "":
			list = append(list, SubscriberFault{"channels." + name, fault})
		}
	}
	return list
}

// lineFault returns the fault of a line of text that may not be empty; "" = none. The fault does not show the line,
// which may be an address.
func lineFault(line string, most int) string {
	switch fault := text.Check(line, text.Line); {
	case line == "":
		return "it is empty: leave it out"
	case len(line) > most:
		return fmt.Sprintf("it has %d bytes; at most %d are allowed", len(line), most)
	case fault != nil:
		return fault.Error()
	default:
		return ""
	}
}

// mailFault returns the fault of a mail address; "" = none.
func mailFault(address string) string {
	if len(address) > maxMailAddress {
		return fmt.Sprintf("it has %d bytes; at most %d are allowed", len(address), maxMailAddress)
	}
	if fault := text.Check(address, text.Line); fault != nil {
		return fault.Error()
	}
	if _, err := mail.ParseAddress(address); err != nil {
		return fmt.Sprintf("%q is no address; write ann@example.com or Ann Lee <ann@example.com>", address)
	}
	return ""
}
