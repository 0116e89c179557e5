package wire

import (
	"encoding/json"
	"encoding/xml"
	"time"

	"tallyman/internal/notice"
)

// FoundNoticesForm is a page of results of a search.
type FoundNoticesForm struct {
	XMLName xml.Name          `json:"-" xml:"notices"`
	Notices []FoundNoticeForm `json:"notices" xml:"notice" doc:"the latest first" nullable:"false"`
	Cursor  string            `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"present where there are more: send it as after to get the next page"`
	Through *time.Time        `json:"through,omitempty" xml:"through,attr,omitempty" doc:"present where the search stopped after 20,000 notices, at this time, with fewer results than asked for. Send cursor as after to go on"`
}

// FoundForm is the findings, items and notices that contain a text.
type FoundForm struct {
	XMLName  xml.Name           `json:"-" xml:"found"`
	Notices  []FoundNoticeForm  `json:"notices" xml:"notices>notice" doc:"the latest first" nullable:"false"`
	Findings []FoundFindingForm `json:"findings" xml:"findings>finding" doc:"open findings; a finding whose whole key equals the text comes first" nullable:"false"`
	Items    []FoundItemForm    `json:"items" xml:"items>item" doc:"the items with the latest push first" nullable:"false"`
	More     []string           `json:"more" xml:"more>kind" doc:"kinds that may have more results: notices, findings, items" nullable:"false"`
}

// Add records in More that there may be more results of a kind. If all is true, the list of the kind is complete, and
// Add records nothing.
func (f *FoundForm) Add(kind string, all bool) {
	if !all {
		f.More = append(f.More, kind)
	}
}

// FoundFindingForm is an open finding in a list over several rules.
type FoundFindingForm struct {
	Rule      string    `json:"rule" xml:"rule"`
	Scope     string    `json:"scope" xml:"scope"`
	Warehouse string    `json:"warehouse" xml:"warehouse" doc:"warehouse of the finding's notice, or else its scope"`
	Key       string    `json:"key" xml:"key" doc:"the key, a JSON array"`
	State     string    `json:"state" xml:"state" enum:"pending,firing"`
	Priority  int       `json:"priority,omitempty" xml:"priority,omitempty" doc:"priority in the last notice"`
	Since     time.Time `json:"since" xml:"since" doc:"of a pending finding: when it was first seen. Of a firing finding: since when it fires"`
	NoticeID  string    `json:"noticeId,omitempty" xml:"noticeId,omitempty" doc:"id of the last notice of the finding"`
}

// FoundItemForm is an item in a list over several queues.
type FoundItemForm struct {
	Queue     string    `json:"queue" xml:"queue"`
	ID        string    `json:"id" xml:"id"`
	Warehouse string    `json:"warehouse,omitempty" xml:"warehouse,omitempty"`
	State     string    `json:"state" xml:"state"`
	Priority  int       `json:"priority" xml:"priority" minimum:"1" maximum:"5"`
	Key       string    `json:"key,omitempty" xml:"key,omitempty" doc:"dedupe key of the item"`
	Subject   string    `json:"subject,omitempty" xml:"subject,omitempty" doc:"the finding from which the item was made: rule, scope and key"`
	CreatedAt time.Time `json:"createdAt" xml:"createdAt"`
}

// FoundNoticeForm is a notice in a list. Its members have the names of the notice's members.
type FoundNoticeForm struct {
	ID        string    `json:"id" xml:"id"`
	Type      string    `json:"type" xml:"type"`
	Warehouse string    `json:"warehouse" xml:"warehouse"`
	Rule      string    `json:"rule" xml:"rule" doc:"empty where a business system sent the notice"`
	Scope     string    `json:"scope" xml:"scope"`
	Key       string    `json:"key" xml:"key" doc:"key of the finding, a JSON array"`
	Status    string    `json:"status" xml:"status" enum:"firing,resolved,event,sent"`
	Priority  int       `json:"priority" xml:"priority" minimum:"1" maximum:"5"`
	Title     string    `json:"title" xml:"title"`
	Count     int       `json:"count" xml:"count" doc:"number of findings in the notice"`
	CreatedAt time.Time `json:"createdAt" xml:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt" xml:"expiresAt"`
}

// NoticeTraceForm is a notice with its origin, its deliveries and its readers.
type NoticeTraceForm struct {
	XMLName    xml.Name          `json:"-" xml:"trace"`
	Notice     notice.View       `json:"notice" xml:"notice" doc:"the notice; read and acked are true where any user has read or acked it"`
	Texts      []NoticeTextForm  `json:"texts" xml:"texts>text" doc:"title and body in other languages, by language" nullable:"false"`
	Origin     string            `json:"origin" xml:"origin" doc:"id of the run or the request that made the notice; logs and traces show it"`
	Run        *RuleRunForm      `json:"run,omitempty" xml:"run,omitempty" doc:"run that made the notice; absent where a business system sent it, or where the ledger no longer keeps the run"`
	Siblings   []FoundNoticeForm `json:"episodeNotices" xml:"episodeNotices>notice" doc:"the other notices of the same episode: firing, reminders, resolution. The latest first, 100 at most" nullable:"false"`
	Deliveries []DeliveryForm    `json:"deliveries" xml:"deliveries>delivery" doc:"the latest first, 1000 at most" nullable:"false"`
	Items      []NoticeItemForm  `json:"items" xml:"items>item" doc:"the queue items that were made from the notice" nullable:"false"`
	Marks      []NoticeMarkForm  `json:"marks" xml:"marks>mark" doc:"the users who have read or acked the notice, in the order of time" nullable:"false"`
}

// NoticeTextForm is the title and body of a notice in one language.
type NoticeTextForm struct {
	Language string `json:"language" xml:"language,attr" example:"zh"`
	Title    string `json:"title" xml:"title"`
	Body     string `json:"body" xml:"body"`
}

// NoticeItemForm is the queue item that was made from a delivery.
type NoticeItemForm struct {
	Delivery int64  `json:"delivery" xml:"delivery" doc:"number of the delivery"`
	Queue    string `json:"queue" xml:"queue"`
	ID       string `json:"id" xml:"id" doc:"id of the item"`
	State    string `json:"state,omitempty" xml:"state,omitempty" enum:"ready,leased,delayed,suspended,stored,dead,done,removed,refused" doc:"absent while the queue cannot be reached"`
}

// NoticeMarkForm is a user's mark on a notice.
type NoticeMarkForm struct {
	User      string    `json:"user" xml:"user" example:"user:ann"`
	Kind      string    `json:"kind" xml:"kind" enum:"read,acked"`
	Warehouse string    `json:"warehouse" xml:"warehouse"`
	At        time.Time `json:"at" xml:"at"`
}

// PageForm is a page of an inbox (docs/reference/api.md). XML has unreadMore only where it is true.
type PageForm struct {
	XMLName    xml.Name           `json:"-" xml:"notices"`
	Notices    []notice.View      `json:"notices" xml:"notice" doc:"the notices in the order of delivery" nullable:"false"`
	Changes    []NoticeChangeForm `json:"changes" xml:"change" doc:"notices whose state another window of the user has changed" nullable:"false"`
	Cursor     string             `json:"cursor" xml:"cursor,attr" doc:"send it as after in the next poll, to get what follows this page"`
	Unread     int                `json:"unread" xml:"unread,attr" doc:"number of unread notices of these subscribers, exact up to 999"`
	UnreadMore bool               `json:"unreadMore" xml:"unreadMore,attr,omitempty" doc:"true where there are more than 999"`
	More       bool               `json:"more" xml:"more,attr" doc:"true where the page is full and the next page has notices already"`
	Reset      bool               `json:"reset" xml:"reset,attr" doc:"true where the cursor is no longer valid. Drop the notices that you hold; this page replaces them"`
	ResetForm
}

// ResetForm says why a cursor is no longer valid. In a page the form is empty while the cursor is valid. The type is
// exported because the schema of a form has only the fields of embedded types that are exported.
type ResetForm struct {
	Reason ResetReason `json:"resetReason,omitempty" xml:"resetReason,attr,omitempty" doc:"why the cursor is no longer valid"`
	Missed *int        `json:"missed,omitempty" xml:"missed,attr,omitempty" minimum:"0" doc:"number of notices that were delivered after the cursor and will not be sent any more; absent where it is not known"`
}

// ResetReason is why a cursor is no longer valid: one of page.ResetReasons.
type ResetReason string

// NoticeChangeForm is a new mark on a notice.
type NoticeChangeForm struct {
	ID   string `json:"id" xml:"id,attr"`
	Kind string `json:"kind" xml:"kind,attr" enum:"read,acked"`
}

// UnreadForm is the data of the event named unread in a stream.
type UnreadForm struct {
	Unread     int  `json:"unread" doc:"number of unread notices of these subscribers, exact up to 999"`
	UnreadMore bool `json:"unreadMore" doc:"true where there are more than 999"`
}

// EndForm is the data of the event named end in a stream.
type EndForm struct {
	Reason string `json:"reason" enum:"revoked,expired,shutdown,unavailable,failed"`
}

// SummaryForm is the content of a floating window.
type SummaryForm struct {
	XMLName    xml.Name      `json:"-" xml:"summary"`
	Unread     int           `json:"unread" xml:"unread,attr" doc:"number of unread notices, exact up to 999"`
	UnreadMore bool          `json:"unreadMore" xml:"unreadMore,attr,omitempty" doc:"true where there are more than 999"`
	Popups     []notice.View `json:"popups" xml:"popups>notice" doc:"modal notices that the user has not acked, the oldest first, 50 at most" nullable:"false"`
	PopupsMore bool          `json:"popupsMore" xml:"popupsMore,attr,omitempty" doc:"true where there are more than 50"`
	Latest     []notice.View `json:"latest" xml:"latest>notice" doc:"the last five notices, the newest first" nullable:"false"`
	Rules      RuleCount     `json:"rules" xml:"rules"`
}

// RuleCount is the health of the enabled rules that watch a warehouse.
type RuleCount struct {
	OK      int `json:"ok" xml:"ok,attr" doc:"rules whose last run succeeded, or that have not run yet"`
	Failing int `json:"failing" xml:"failing,attr" doc:"rules whose last run failed, that cannot run, or that are late"`
}

// ReadAllForm is the body of POST /notices/read-all.
type ReadAllForm struct {
	Warehouse   string   `json:"warehouse,omitempty" digits:"true" doc:"warehouse of the inboxes. A token with one warehouse can leave it out" example:"119240"`
	UpTo        string   `json:"upTo" minLength:"1" doc:"cursor of a page of this warehouse. Every notice that was delivered up to that page becomes read"`
	Subscribers []string `json:"subscribers,omitempty" doc:"the user, once, and the roles of the user: all of their inboxes become read. By default the subscribers of the token" nullable:"false"`
}

// PackForm is the answer of the old web service that WMS clients poll.
type PackForm struct {
	XMLName       xml.Name          `json:"-" xml:"packNotificationVo"`
	Warehouse     string            `json:"whId" xml:"whId"`
	LastFetch     int64             `json:"lastFetchTimeStamp" xml:"lastFetchTimeStamp" doc:"send it with the next poll; each notice comes once"`
	Unread        int               `json:"unreadCount" xml:"unreadCount" doc:"number of unread notices, exact up to 999"`
	Notifications NotificationsForm `json:"notifications" xml:"notifications"`
}

// NotificationsForm is a type of its own so that XML has the element even where the list is empty.
type NotificationsForm struct {
	List []NotificationForm `json:"notification" xml:"notification" nullable:"false"`
}

// NotificationForm is a notice in the form of the old web service.
type NotificationForm struct {
	ID            string `json:"id" xml:"id"`
	Title         string `json:"title" xml:"title"`
	Body          string `json:"body" xml:"body"`
	CreateTime    int64  `json:"createTime" xml:"createTime" doc:"when the notice was delivered, in ms since 1970"`
	ExpireTime    int64  `json:"expireTime" xml:"expireTime" doc:"lifetime of the notice in seconds, from createTime"`
	Warehouse     string `json:"whId" xml:"whId"`
	MessageTypeID int64  `json:"messageTypeId" xml:"messageTypeId"`
}

// SendForm is a list of notices that a business system sends.
type SendForm struct {
	Notices []SendNoticeForm `json:"notices" minItems:"1" nullable:"false"`
}

// SendNoticeForm is a notice that a business system sends, with data, a title, or both. The type has the defaults of
// the other fields.
type SendNoticeForm struct {
	Type       string                  `json:"type,omitempty" digits:"true" doc:"code of a type in the catalogue, or its id as a number or a text" example:"REP_NOTICE"`
	TypeID     int64                   `json:"typeId,omitempty" doc:"id of the type, instead of type" example:"124719"`
	Warehouse  string                  `json:"warehouse" digits:"true" doc:"warehouse whose inboxes get the notice. A number is accepted as well" example:"119240"`
	Title      string                  `json:"title,omitempty" doc:"title of the notice; by default the title of the type, or else the name of the type"`
	Body       string                  `json:"body,omitempty" text:"lines" doc:"body of the notice; by default the body of the type, or else a list of the data"`
	Texts      map[string]SendTextForm `json:"texts,omitempty" doc:"title and body by language"`
	Data       SendData                `json:"data,omitempty" doc:"values for the typed fields of the type"`
	Priority   int                     `json:"priority,omitempty" doc:"5 is the highest; by default the priority of the type, or else 3"`
	Order      string                  `json:"order,omitempty" digits:"decimal" maxLength:"40" doc:"place of the notice's queue items among the items of the same priority, the lowest first: a number with at most three decimal places, or a time" example:"7.5"`
	Modal      string                  `json:"modal,omitempty" enum:"silent,popup" doc:"by default the modal of the type, or else silent"`
	Labels     map[string]string       `json:"labels,omitempty" doc:"texts by name, in addition to the labels of the type"`
	Expires    string                  `json:"expires,omitempty" doc:"lifetime of the notice in s, m, h, d; the retention of the type by default" example:"24h"`
	Recipients []string                `json:"recipients,omitempty" nullable:"false" doc:"user:<id> or role:<id>; by default all subscribers of the type in the warehouse"`
	Deliver    []DeliverForm           `json:"deliver,omitempty" nullable:"false" doc:"sinks of the notice; by default the sinks of the type, or else the inbox"`
}

// SendTextForm is a translation of title and body.
type SendTextForm struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty" text:"lines"`
}

// DeliverForm is a sink of a sent notice. A push channel has a strategy; the inbox and queues are tried until they
// take the notice.
type DeliverForm struct {
	Sink     string `json:"sink" doc:"name of a configured sink" example:"inbox"`
	Strategy string `json:"strategy,omitempty" enum:"immediate,delayed,important,timed" default:"immediate" doc:"immediate: one attempt. delayed: a later attempt, unless the condition in unless is met. important: attempts until one succeeds or the notice expires. timed: attempts until within has passed"`
	Delay    string `json:"delay,omitempty" doc:"for delayed: time from now to the first attempt, in s, m, h, d" example:"10m"`
	At       string `json:"at,omitempty" doc:"for delayed: time of the first attempt, instead of delay; RFC 3339" example:"2026-06-01T18:00:00+08:00"`
	Within   string `json:"within,omitempty" doc:"for timed: how long the delivery is tried, in s, m, h, d" example:"30m"`
	Retry    int    `json:"retry,omitempty" minimum:"0" maximum:"100" doc:"for delayed: number of attempts after the first"`
	Unless   string `json:"unless,omitempty" enum:"read,acked" doc:"for delayed: what makes the delivery needless, by any recipient"`
	Until    string `json:"until,omitempty" enum:"sent" doc:"for important: with sent, attempts go on after the notice has expired, until the channel takes it or an operator cancels"`
}

// SendData is the typed data of a sent notice. The map keeps the JSON text, because Go's numbers cannot hold every
// value.
type SendData map[string]json.RawMessage

// SentForm is the result of sending notices.
type SentForm struct {
	XMLName xml.Name         `json:"-" xml:"sent"`
	Notices []SentNoticeForm `json:"notices" xml:"notice" doc:"results in the order of the request" nullable:"false"`
}

// SentNoticeForm is the result of sending one notice.
type SentNoticeForm struct {
	ID           string `json:"id" xml:"id"`
	Deliveries   int    `json:"deliveries" xml:"deliveries" doc:"number of deliveries that were made of the notice"`
	Unsubscribed int    `json:"unsubscribed,omitempty" xml:"unsubscribed,omitempty" doc:"sinks that the notice did not go to, because it has no recipient there"`
}
