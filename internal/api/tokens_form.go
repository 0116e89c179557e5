package api

import (
	"encoding/xml"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/rules/strictyaml"
)

// TokenAskForm is what a token is to be.
type TokenAskForm struct {
	Name        string   `json:"name,omitempty" maxLength:"100" doc:"what it is for; the subject by default"`
	Subject     string   `json:"subject" doc:"who uses it: user:<id> or service:<id>" example:"service:wms"`
	Access      []string `json:"access" enum:"client,service,producer,worker,viewer,operator,admin" doc:"what it may do" example:"[\"service\"]" nullable:"false"`
	Subscribers []string `json:"subscribers,omitempty" doc:"of a client: whose notices it gets, user:<id> or role:<id>, besides its subject" nullable:"false"`
	Warehouses  []string `json:"warehouses,omitempty" doc:"where, * = everywhere. A client, service or producer needs them, others are everywhere by default" nullable:"false"`
	Expires     string   `json:"expires,omitempty" doc:"when it ends: RFC 3339, or a duration from now in s, m, h, d; never by default" example:"90d"`
}

// TokenForm is a token without its secret.
type TokenForm struct {
	XMLName     xml.Name   `json:"-" xml:"token"`
	ID          string     `json:"id" xml:"id" example:"t_5rmwxhkqj2ab"`
	Name        string     `json:"name" xml:"name"`
	Subject     string     `json:"subject" xml:"subject"`
	Access      []string   `json:"access" xml:"access>role" nullable:"false"`
	Subscribers []string   `json:"subscribers,omitempty" xml:"subscribers>subscriber,omitempty" nullable:"false"`
	Warehouses  []string   `json:"warehouses" xml:"warehouses>warehouse" nullable:"false"`
	State       string     `json:"state" xml:"state" enum:"live,expired,revoked"`
	Created     time.Time  `json:"created" xml:"created"`
	CreatedBy   string     `json:"createdBy" xml:"createdBy"`
	Expires     *time.Time `json:"expires,omitempty" xml:"expires,omitempty" doc:"absent = never"`
	Used        *time.Time `json:"used,omitempty" xml:"used,omitempty" doc:"the last time, to a minute or so"`
	Revoked     *time.Time `json:"revoked,omitempty" xml:"revoked,omitempty"`
	RevokedBy   string     `json:"revokedBy,omitempty" xml:"revokedBy,omitempty"`
}

// NewTokenForm is a token that was created.
type NewTokenForm struct {
	TokenForm
	Secret string `json:"secret" xml:"secret" doc:"what to send as Authorization: Bearer. It is shown here and never again"`
}

type (
	tokensForm struct {
		XMLName xml.Name    `json:"-" xml:"tokens"`
		Tokens  []TokenForm `json:"tokens" xml:"token" doc:"the latest first" nullable:"false"`
	}
	tokenAskInput  struct{ Body TokenAskForm }
	newTokenOutput struct{ Body NewTokenForm }
	tokensOutput   struct{ Body tokensForm }
	tokenOutput    struct{ Body TokenForm }
	tokenListInput struct {
		Ended testFlag `query:"ended" doc:"those too that were revoked or have expired"`
	}
	tokenInput struct {
		ID string `path:"id" doc:"the token" example:"t_5rmwxhkqj2ab"`
	}
)

// FormOfToken is a token of the ledger as the API shows it.
func FormOfToken(t *ledger.Token, now time.Time) TokenForm {
	f := TokenForm{
		ID: t.ID, Name: t.Name, Subject: t.Subject, Access: t.Access, Subscribers: t.Subscribers, Warehouses: t.Warehouses, State: "live",
		Created: t.Created, CreatedBy: t.CreatedBy, Expires: timeOrNil(t.Expires), Used: timeOrNil(t.Used), Revoked: timeOrNil(t.Revoked), RevokedBy: t.RevokedBy,
	}
	switch {
	case !t.Revoked.IsZero():
		f.State = "revoked"
	case !t.Expires.IsZero() && !t.Expires.After(now):
		f.State = "expired"
	}
	return f
}

// FormsOfTokens are those that are live, or where ended is asked for all.
func FormsOfTokens(list []ledger.Token, ended bool, now time.Time) []TokenForm {
	forms := []TokenForm{}
	for i := range list {
		if form := FormOfToken(&list[i], now); ended || form.State == "live" {
			forms = append(forms, form)
		}
	}
	return forms
}

// Token makes the token and its secret, or says what is wrong with the form.
func (f *TokenAskForm) Token(by string, now time.Time) (token ledger.Token, secret string, faults []Fault) {
	spec, faults := f.spec(now)
	if len(faults) > 0 {
		return token, "", faults
	}
	token, secret, wrong := auth.NewToken(spec, by, now)
	for _, w := range wrong {
		faults = append(faults, Fault{Location: "body." + w.Field, Message: w.Message})
	}
	return token, secret, faults
}

// spec reads what the schema cannot.
func (f *TokenAskForm) spec(now time.Time) (auth.Spec, []Fault) {
	s := auth.Spec{Name: f.Name, Subject: f.Subject, Subscribers: f.Subscribers, Warehouses: f.Warehouses}
	for _, role := range f.Access {
		s.Access = append(s.Access, auth.Role(role))
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
		return s, []Fault{{Location: "body.expires", Message: quote(f.Expires) + " is neither a time such as 2027-01-31T00:00:00Z nor a duration such as 90d"}}
	}
	s.Expires = now.Add(span)
	return s, nil
}
