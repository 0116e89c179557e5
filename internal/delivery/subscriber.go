package delivery

// Subscriber is an entry of the address book.
type Subscriber struct {
	ID       string   // user:<id> or role:<id>
	Name     string   // of the person or role, for a salutation; may be ""
	Language string   // of its texts, as "zh"; "" = the notice's text without a language
	Mail     []string // addresses, as "Ann Lee <ann@example.com>" or "ann@example.com"; a role may have several
}
