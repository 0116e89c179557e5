package wire

import (
	"encoding/xml"
	"time"
)

// OriginsForm is the sources that subscriptions come from.
type OriginsForm struct {
	XMLName xml.Name     `json:"-" xml:"origins"`
	Origins []OriginForm `json:"origins" xml:"origin" doc:"by name" nullable:"false"`
}

// OriginForm is how the subscriptions of a source stand.
type OriginForm struct {
	Name          string           `json:"name" xml:"name" doc:"of the source" example:"wms"`
	Configured    bool             `json:"configured" xml:"configured" doc:"whether the configuration of the node names it; the subscriptions of one that it does not name stay as they are"`
	Subscriptions int              `json:"subscriptions" xml:"subscriptions" doc:"that come from it"`
	Asked         time.Time        `json:"asked" xml:"asked" doc:"when a node last began to ask it"`
	Answered      *time.Time       `json:"answered,omitempty" xml:"answered,omitempty" doc:"when it last gave a list; absent = never"`
	FailedSince   *time.Time       `json:"failedSince,omitempty" xml:"failedSince,omitempty" doc:"since when it gives none; absent = the last answer was a list"`
	Error         string           `json:"error,omitempty" xml:"error,omitempty" text:"lines" doc:"why it gives none"`
	Waits         *WaitingListForm `json:"waits,omitempty" xml:"waits,omitempty" doc:"a list that waits for an operator, since it removes more than half of the subscriptions"`
}

// WaitingListForm is a list of subscriptions that waits for an operator.
type WaitingListForm struct {
	Hash     string                   `json:"hash" xml:"hash" doc:"stands for the list: a confirmation names it" example:"5f2a9c0d1e3b4a67"`
	Since    time.Time                `json:"since" xml:"since"`
	Added    int                      `json:"added" xml:"added" doc:"how many subscriptions it adds"`
	Removed  int                      `json:"removed" xml:"removed" doc:"how many it removes"`
	Removing []ListedSubscriptionForm `json:"removing" xml:"removing>subscription" doc:"the first of those that it removes, at most 100" nullable:"false"`
}

// ConfirmListForm confirms a list that waits.
type ConfirmListForm struct {
	Hash string `json:"hash" doc:"of the list that was shown; another one is refused" example:"5f2a9c0d1e3b4a67"`
}

// ConfirmedListForm is what a list has changed.
type ConfirmedListForm struct {
	XMLName xml.Name `json:"-" xml:"confirmed"`
	Added   int      `json:"added" xml:"added"`
	Changed int      `json:"changed,omitempty" xml:"changed,omitempty" doc:"scopes alone: those that have another time zone or other parameters"`
	Removed int      `json:"removed" xml:"removed"`
}

// ReleasedForm is what became of the subscriptions of a source.
type ReleasedForm struct {
	XMLName  xml.Name `json:"-" xml:"released"`
	Released int      `json:"released" xml:"released" doc:"subscriptions that count as made by hand now"`
}

// ScopeOriginsForm is the rules whose scopes come from queries.
type ScopeOriginsForm struct {
	XMLName xml.Name          `json:"-" xml:"origins"`
	Origins []ScopeOriginForm `json:"origins" xml:"origin" doc:"by rule" nullable:"false"`
}

// ScopeOriginForm is how the scopes of a rule stand that come from a query.
type ScopeOriginForm struct {
	Rule        string             `json:"rule" xml:"rule" doc:"id of the rule" example:"negative-bin-stock"`
	Source      string             `json:"source,omitempty" xml:"source,omitempty" doc:"that is asked; absent where the rule files of the node have no query for the rule" example:"wms"`
	Listed      bool               `json:"listed" xml:"listed" doc:"whether a list is in force; a rule without a list waits for its scopes, and does not run"`
	Scopes      int                `json:"scopes" xml:"scopes" doc:"in the list in force"`
	Asked       *time.Time         `json:"asked,omitempty" xml:"asked,omitempty" doc:"when a node last began to ask; absent = never"`
	Answered    *time.Time         `json:"answered,omitempty" xml:"answered,omitempty" doc:"when the source last gave a list; absent = never"`
	FailedSince *time.Time         `json:"failedSince,omitempty" xml:"failedSince,omitempty" doc:"since when it gives none; absent = the last answer was a list"`
	Error       string             `json:"error,omitempty" xml:"error,omitempty" text:"lines" doc:"why it gives none"`
	Waits       *WaitingScopesForm `json:"waits,omitempty" xml:"waits,omitempty" doc:"a list that waits for an operator, since it is empty or removes more than half of the scopes"`
}

// WaitingScopesForm is a list of scopes that waits for an operator.
type WaitingScopesForm struct {
	Hash     string    `json:"hash" xml:"hash" doc:"stands for the list: a confirmation names it" example:"5f2a9c0d1e3b4a67"`
	Since    time.Time `json:"since" xml:"since"`
	Scopes   int       `json:"scopes" xml:"scopes" doc:"in the list that waits"`
	Added    int       `json:"added" xml:"added" doc:"how many scopes it adds"`
	Changed  int       `json:"changed" xml:"changed" doc:"of how many it changes the time zone or parameters"`
	Removed  int       `json:"removed" xml:"removed" doc:"how many it removes"`
	Removing []string  `json:"removing" xml:"removing>scope" doc:"the names of the first scopes that it removes, at most 100" nullable:"false"`
}
