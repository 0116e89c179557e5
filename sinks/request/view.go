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

// View is what the templates of a call see: the notice, whom it is for, and what the site has given the sink.
type View struct {
	*render.View

	Recipients []delivery.Subscriber // with what the address book knows of them
	Addresses  []string              // of the recipients, where the sink names which
	Token      string                // as the token's call has fetched it
	Values     Values                // see Value
}

// Address is the first of the addresses: where each recipient has a call, it is theirs.
func (v *View) Address() string {
	if len(v.Addresses) == 0 {
		return ""
	}
	return v.Addresses[0]
}

// Value returns a value of the sink's settings.
func (v *View) Value(name string) (string, error) { return v.Values.Value(name) }

// Sample is the view that the templates of a call are tried on.
func Sample(values Values) *View {
	n := render.Sample()
	return &View{View: n, Recipients: []delivery.Subscriber{n.Subscriber}, Addresses: []string{n.Subscriber.Phone}, Token: "sample", Values: values}
}

// TokenView is what the templates of a token's call see.
type TokenView struct {
	Assertion string // signed
	Values    Values // see Value
}

// Value returns a value of the sink's settings.
func (v *TokenView) Value(name string) (string, error) { return v.Values.Value(name) }

// Values are texts of the sink's settings that templates name, and that nobody else sees.
type Values map[string]settings.Secret

// Value returns the one of that name.
func (v Values) Value(name string) (string, error) {
	s, ok := v[name]
	if !ok {
		return "", fmt.Errorf("values has no %.40q; it has: %s", name, strings.Join(slices.Sorted(maps.Keys(v)), ", "))
	}
	return s.Reveal(), nil
}

// Secrets are the texts that no error may show.
func (v Values) Secrets() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		list = append(list, v[name].Reveal())
	}
	return list
}
