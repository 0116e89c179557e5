package wire

import (
	"encoding/xml"
	"time"
)

// OriginsForm is the sources that list subscriptions.
type OriginsForm struct {
	XMLName xml.Name     `json:"-" xml:"origins"`
	Origins []OriginForm `json:"origins" xml:"origin" doc:"the sources by name" nullable:"false"`
}

// OriginForm is the state of the subscriptions from one source.
type OriginForm struct {
	Name          string           `json:"name" xml:"name" doc:"name of the source" example:"wms"`
	Configured    bool             `json:"configured" xml:"configured" doc:"true where the node's configuration has the source. The subscriptions of a source without configuration stay as they are"`
	Subscriptions int              `json:"subscriptions" xml:"subscriptions" doc:"number of subscriptions from the source"`
	Asked         time.Time        `json:"asked" xml:"asked" doc:"when a node last began to ask the source"`
	Answered      *time.Time       `json:"answered,omitempty" xml:"answered,omitempty" doc:"when the source last gave a list; absent = never"`
	FailedSince   *time.Time       `json:"failedSince,omitempty" xml:"failedSince,omitempty" doc:"time since which the source gives no list; absent where its last answer was a list"`
	Error         string           `json:"error,omitempty" xml:"error,omitempty" text:"lines" doc:"why the source gives no list"`
	Waits         *WaitingListForm `json:"waits,omitempty" xml:"waits,omitempty" doc:"a list that waits for an operator, because it removes more than half of the subscriptions"`
}

// WaitingListForm is a list of subscriptions that waits for an operator.
type WaitingListForm struct {
	Hash     string                   `json:"hash" xml:"hash" doc:"hash of the list; a confirmation names it" example:"5f2a9c0d1e3b4a67"`
	Since    time.Time                `json:"since" xml:"since"`
	Added    int                      `json:"added" xml:"added" doc:"number of subscriptions that the list adds"`
	Removed  int                      `json:"removed" xml:"removed" doc:"number of subscriptions that the list removes"`
	Removing []ListedSubscriptionForm `json:"removing" xml:"removing>subscription" doc:"the first subscriptions that the list removes, at most 100" nullable:"false"`
}

// ConfirmListForm confirms a list that waits.
type ConfirmListForm struct {
	Hash string `json:"hash" doc:"hash of the list that was shown. Any other list is refused" example:"5f2a9c0d1e3b4a67"`
}

// ConfirmedListForm is the changes that a confirmed list made.
type ConfirmedListForm struct {
	XMLName xml.Name `json:"-" xml:"confirmed"`
	Added   int      `json:"added" xml:"added"`
	Changed int      `json:"changed,omitempty" xml:"changed,omitempty" doc:"for scopes only: number of scopes with another time zone or other parameters"`
	Removed int      `json:"removed" xml:"removed"`
}

// ReleasedForm is the result of releasing the subscriptions of a source.
type ReleasedForm struct {
	XMLName  xml.Name `json:"-" xml:"released"`
	Released int      `json:"released" xml:"released" doc:"number of subscriptions that now count as made by hand"`
}

// ScopeOriginsForm is the rules whose scopes a query lists.
type ScopeOriginsForm struct {
	XMLName xml.Name          `json:"-" xml:"origins"`
	Origins []ScopeOriginForm `json:"origins" xml:"origin" doc:"the rules by id" nullable:"false"`
}

// ScopeOriginForm is the state of the scopes of one rule, which a query lists.
type ScopeOriginForm struct {
	Rule        string             `json:"rule" xml:"rule" doc:"id of the rule" example:"negative-bin-stock"`
	Source      string             `json:"source,omitempty" xml:"source,omitempty" doc:"source that the query runs on; absent where the node's rule files have no query for the rule" example:"wms"`
	Listed      bool               `json:"listed" xml:"listed" doc:"true where a list is in force. A rule without a list waits for its scopes, and does not run"`
	Scopes      int                `json:"scopes" xml:"scopes" doc:"number of scopes in the list in force"`
	Asked       *time.Time         `json:"asked,omitempty" xml:"asked,omitempty" doc:"when a node last began to ask the source; absent = never"`
	Answered    *time.Time         `json:"answered,omitempty" xml:"answered,omitempty" doc:"when the source last gave a list; absent = never"`
	FailedSince *time.Time         `json:"failedSince,omitempty" xml:"failedSince,omitempty" doc:"time since which the source gives no list; absent where its last answer was a list"`
	Error       string             `json:"error,omitempty" xml:"error,omitempty" text:"lines" doc:"why the source gives no list"`
	Waits       *WaitingScopesForm `json:"waits,omitempty" xml:"waits,omitempty" doc:"a list that waits for an operator, because it is empty or removes more than half of the scopes"`
}

// WaitingScopesForm is a list of scopes that waits for an operator.
type WaitingScopesForm struct {
	Hash     string    `json:"hash" xml:"hash" doc:"hash of the list; a confirmation names it" example:"5f2a9c0d1e3b4a67"`
	Since    time.Time `json:"since" xml:"since"`
	Scopes   int       `json:"scopes" xml:"scopes" doc:"number of scopes in the list"`
	Added    int       `json:"added" xml:"added" doc:"number of scopes that the list adds"`
	Changed  int       `json:"changed" xml:"changed" doc:"number of scopes whose time zone or parameters the list changes"`
	Removed  int       `json:"removed" xml:"removed" doc:"number of scopes that the list removes"`
	Removing []string  `json:"removing" xml:"removing>scope" doc:"names of the first scopes that the list removes, at most 100" nullable:"false"`
}
