package auth

import (
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// TokenForm is a token of the ledger as clients see it, without its secret.
func TokenForm(t *ledger.Token, now time.Time) wire.TokenForm {
	f := wire.TokenForm{
		ID: t.ID, Name: t.Name, Subject: t.Subject, Access: t.Access, Subscribers: t.Subscribers, Warehouses: t.Warehouses, State: "live",
		Created: t.Created, CreatedBy: t.CreatedBy, Expires: wire.Moment(t.Expires), Used: wire.Moment(t.Used), Revoked: wire.Moment(t.Revoked),
		RevokedBy: t.RevokedBy,
	}
	switch {
	case !t.Revoked.IsZero():
		f.State = "revoked"
	case !t.Expires.IsZero() && !t.Expires.After(now):
		f.State = "expired"
	}
	return f
}

// TokenForms are the tokens that are live. With ended they are all tokens.
func TokenForms(list []ledger.Token, ended bool, now time.Time) []wire.TokenForm {
	forms := []wire.TokenForm{}
	for i := range list {
		if form := TokenForm(&list[i], now); ended || form.State == "live" {
			forms = append(forms, form)
		}
	}
	return forms
}

// NewTokenOf makes the token that the form asks for, with its secret, or says what is wrong with the form.
func NewTokenOf(f *wire.TokenAskForm, by string, now time.Time) (token ledger.Token, secret string, faults []wire.Fault) {
	spec, faults := tokenSpec(f, now)
	if len(faults) > 0 {
		return token, "", faults
	}
	token, secret, wrong := NewToken(spec, by, now)
	for _, w := range wrong {
		faults = append(faults, wire.Fault{Location: "body." + w.Field, Message: w.Message})
	}
	return token, secret, faults
}

// tokenSpec reads what the schema cannot.
func tokenSpec(f *wire.TokenAskForm, now time.Time) (Spec, []wire.Fault) {
	s := Spec{Name: f.Name, Subject: f.Subject, Subscribers: f.Subscribers, Warehouses: f.Warehouses}
	for _, role := range f.Access {
		s.Access = append(s.Access, Role(role))
	}
	if f.Expires == "" {
		return s, nil
	}
	var err error
	if s.Expires, err = time.Parse(time.RFC3339, f.Expires); err == nil {
		return s, nil
	}
	span, err := strictyaml.ParseDuration(f.Expires)
	if err != nil || span <= 0 {
		return s, []wire.Fault{{
			Location: "body.expires", Message: text.Quote(f.Expires) + " is neither a time such as 2027-01-31T00:00:00Z nor a duration such as 90d",
		}}
	}
	s.Expires = now.Add(span)
	return s, nil
}
