package wire

import (
	"encoding/xml"
	"time"
)

// MeForm is who the caller is, and what he may do.
type MeForm struct {
	XMLName     xml.Name   `json:"-" xml:"me"`
	Subject     string     `json:"subject" xml:"subject" example:"user:ann" doc:"anonymous with auth.mode none"`
	Name        string     `json:"name,omitempty" xml:"name,omitempty" doc:"of the user, as the address book has it"`
	Roles       []string   `json:"roles" xml:"roles>role" doc:"that say what the caller may do" nullable:"false"`
	Warehouses  []string   `json:"warehouses" xml:"warehouses>warehouse" doc:"where; * = everywhere" nullable:"false"`
	Subscribers []string   `json:"subscribers,omitempty" xml:"subscribers>subscriber,omitempty" doc:"whose inboxes are the caller's own" nullable:"false"`
	Mode        string     `json:"mode" xml:"mode" enum:"token,none" doc:"auth.mode: none asks for no token"`
	Token       string     `json:"token,omitempty" xml:"token,omitempty" doc:"the id of the API token; a JWT has none" example:"t_5rmwxhkqj2ab"`
	Expires     *time.Time `json:"expires,omitempty" xml:"expires,omitempty" doc:"when the token ends by itself"`
	May         []string   `json:"may" xml:"may>operation" doc:"ids of the operations that the roles allow, sorted" nullable:"false"`
}

// TokenAskForm is what a token is to be.
type TokenAskForm struct {
	Name        string   `json:"name,omitempty" maxLength:"100" doc:"what it is for; the subject by default"`
	Subject     string   `json:"subject" doc:"who uses it: user:<id> or service:<id>" example:"service:wms"`
	Access      []string `json:"access" enum:"client,service,producer,worker,viewer,operator,admin" doc:"what it may do" example:"[\"service\"]" nullable:"false"`
	Subscribers []string `json:"subscribers,omitempty" doc:"of a client: whose notices it gets, user:<id> or role:<id>, besides its subject" nullable:"false"`
	Warehouses  []string `json:"warehouses,omitempty" doc:"where, * = everywhere. A client, service or producer needs them, others are everywhere by default" nullable:"false"`
	Expires     string   `json:"expires,omitempty" doc:"when it ends: RFC 3339, or a duration from now in s, m, h, d; never by default" example:"90d"`
}

// TokensForm is a list of tokens.
type TokensForm struct {
	XMLName xml.Name    `json:"-" xml:"tokens"`
	Tokens  []TokenForm `json:"tokens" xml:"token" doc:"the latest first" nullable:"false"`
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
