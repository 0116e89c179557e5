package request

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/internal/delivery"
	"tallyman/internal/settings"
	"tallyman/sinks/render"
)

// View is the data that the templates of a call see: the notice, its recipients, and the values of the site.
type View struct {
	*render.View

	Recipients []delivery.Subscriber // with their entries of the address book
	Addresses  []string              // the addresses of the recipients, if the sink names a kind of address
	Token      string                // the access token
	Values     Values                // read by the method Value
}

// Address returns the first address. If each recipient has a call of their own, it is the address of the recipient.
func (v *View) Address() string {
	if len(v.Addresses) == 0 {
		return ""
	}
	return v.Addresses[0]
}

// Value returns a value of the sink's settings.
func (v *View) Value(name string) (string, error) { return v.Values.Value(name) }

// Sample returns a view on which the templates of a call are checked.
func Sample(values Values) *View {
	n := render.Sample()
	return &View{View: n, Recipients: []delivery.Subscriber{n.Subscriber}, Addresses: []string{n.Subscriber.Phone}, Token: "sample", Values: values}
}

// TokenView is the data that the templates of a token's call see.
type TokenView struct {
	Assertion string // the signed JWT
	Values    Values // read by the method Value
}

// Value returns a value of the sink's settings.
func (v *TokenView) Value(name string) (string, error) { return v.Values.Value(name) }

// Values are secret texts of the sink's settings, which only its templates can name.
type Values map[string]settings.Secret

// Value returns the value with that name.
func (v Values) Value(name string) (string, error) {
	s, ok := v[name]
	if !ok {
		return "", fmt.Errorf("values has no %.40q; it has: %s", name, strings.Join(slices.Sorted(maps.Keys(v)), ", "))
	}
	return s.Reveal(), nil
}

// Secrets returns the texts that no error may show.
func (v Values) Secrets() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		list = append(list, v[name].Reveal())
	}
	return list
}
