package wire

import (
	"encoding/json"
	"encoding/xml"
	"time"

	"tallyman/internal/notice"
)

// FoundNoticesForm is a page of a search.
type FoundNoticesForm struct {
	XMLName xml.Name          `json:"-" xml:"notices"`
	Notices []FoundNoticeForm `json:"notices" xml:"notice" doc:"the latest first" nullable:"false"`
	Cursor  string            `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
	Through *time.Time        `json:"through,omitempty" xml:"through,attr,omitempty" doc:"the search has looked at 20,000 notices, back to this time, and found fewer than were asked for; cursor goes on"`
}

// FoundForm is what a text stands in.
type FoundForm struct {
	XMLName  xml.Name           `json:"-" xml:"found"`
	Notices  []FoundNoticeForm  `json:"notices" xml:"notices>notice" doc:"the latest first" nullable:"false"`
	Findings []FoundFindingForm `json:"findings" xml:"findings>finding" doc:"open ones; those first whose whole key is the text" nullable:"false"`
	Items    []FoundItemForm    `json:"items" xml:"items>item" doc:"the latest push first" nullable:"false"`
	More     []string           `json:"more" xml:"more>kind" doc:"of what there may be more: notices, findings, items" nullable:"false"`
}

// Add notes of a kind whether all of it is there.
func (f *FoundForm) Add(kind string, all bool) {
	if !all {
		f.More = append(f.More, kind)
	}
}

// FoundFindingForm is what a list of several rules shows of an open finding.
type FoundFindingForm struct {
	Rule      string    `json:"rule" xml:"rule"`
	Scope     string    `json:"scope" xml:"scope"`
	Warehouse string    `json:"warehouse" xml:"warehouse" doc:"of its notice, else its scope"`
	Key       string    `json:"key" xml:"key" doc:"a JSON array"`
	State     string    `json:"state" xml:"state" enum:"pending,firing"`
	Priority  int       `json:"priority,omitempty" xml:"priority,omitempty" doc:"as it was told last"`
	Since     time.Time `json:"since" xml:"since" doc:"of a pending one, when it was seen first; of a firing one, since when it fires"`
	NoticeID  string    `json:"noticeId,omitempty" xml:"noticeId,omitempty" doc:"the last notice of it"`
}

// FoundItemForm is what a list of several queues shows of an item.
type FoundItemForm struct {
	Queue     string    `json:"queue" xml:"queue"`
	ID        string    `json:"id" xml:"id"`
	Warehouse string    `json:"warehouse,omitempty" xml:"warehouse,omitempty"`
	State     string    `json:"state" xml:"state"`
	Priority  int       `json:"priority" xml:"priority" minimum:"1" maximum:"5"`
	Key       string    `json:"key,omitempty" xml:"key,omitempty" doc:"its dedupe key"`
	Subject   string    `json:"subject,omitempty" xml:"subject,omitempty" doc:"what it was made of: rule, scope and key of a finding"`
	CreatedAt time.Time `json:"createdAt" xml:"createdAt"`
}

// FoundNoticeForm is what a list shows of a notice. Its members are those of the notice.
type FoundNoticeForm struct {
	ID        string    `json:"id" xml:"id"`
	Type      string    `json:"type" xml:"type"`
	Warehouse string    `json:"warehouse" xml:"warehouse"`
	Rule      string    `json:"rule" xml:"rule" doc:"empty when a business system sent it"`
	Scope     string    `json:"scope" xml:"scope"`
	Key       string    `json:"key" xml:"key" doc:"what the finding is about, a JSON array"`
	Status    string    `json:"status" xml:"status" enum:"firing,resolved,event,sent"`
	Priority  int       `json:"priority" xml:"priority" minimum:"1" maximum:"5"`
	Title     string    `json:"title" xml:"title"`
	Count     int       `json:"count" xml:"count" doc:"findings that it stands for"`
	CreatedAt time.Time `json:"createdAt" xml:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt" xml:"expiresAt"`
}

// NoticeTraceForm is a notice from the firing that made it to those who have read it.
type NoticeTraceForm struct {
	XMLName    xml.Name          `json:"-" xml:"trace"`
	Notice     notice.View       `json:"notice" xml:"notice" doc:"read and acked by anybody"`
	Texts      []NoticeTextForm  `json:"texts" xml:"texts>text" doc:"its words in other languages, by language" nullable:"false"`
	Origin     string            `json:"origin" xml:"origin" doc:"what made it, a run or a request of a business system: the id that logs and traces show"`
	Run        *RuleRunForm      `json:"run,omitempty" xml:"run,omitempty" doc:"that made it; absent where a business system sent it, or the ledger keeps the run no more"`
	Siblings   []FoundNoticeForm `json:"episodeNotices" xml:"episodeNotices>notice" doc:"the other notices of the finding's life: its firing, reminders, its resolution. The latest first, 100 at most" nullable:"false"`
	Deliveries []DeliveryForm    `json:"deliveries" xml:"deliveries>delivery" doc:"the latest first, 1000 at most" nullable:"false"`
	Items      []NoticeItemForm  `json:"items" xml:"items>item" doc:"what queues have made of it" nullable:"false"`
	Marks      []NoticeMarkForm  `json:"marks" xml:"marks>mark" doc:"who has read and acked it, in the order of time" nullable:"false"`
}

// NoticeTextForm is what a notice says in a language.
type NoticeTextForm struct {
	Language string `json:"language" xml:"language,attr" example:"zh"`
	Title    string `json:"title" xml:"title"`
	Body     string `json:"body" xml:"body"`
}

// NoticeItemForm is the item of a queue that a delivery came to.
type NoticeItemForm struct {
	Delivery int64  `json:"delivery" xml:"delivery" doc:"its number"`
	Queue    string `json:"queue" xml:"queue"`
	ID       string `json:"id" xml:"id" doc:"the item"`
	State    string `json:"state,omitempty" xml:"state,omitempty" enum:"ready,leased,delayed,suspended,stored,dead,done,removed,refused" doc:"absent while the queue is out of reach"`
}

// NoticeMarkForm is what a user did with a notice.
type NoticeMarkForm struct {
	User      string    `json:"user" xml:"user" example:"user:ann"`
	Kind      string    `json:"kind" xml:"kind" enum:"read,acked"`
	Warehouse string    `json:"warehouse" xml:"warehouse"`
	At        time.Time `json:"at" xml:"at"`
}

// PageForm is a page as clients get it (docs/reference/api.md). XML has unreadMore only where it is true.
type PageForm struct {
	XMLName    xml.Name           `json:"-" xml:"notices"`
	Notices    []notice.View      `json:"notices" xml:"notice" doc:"in the order of delivery" nullable:"false"`
	Changes    []NoticeChangeForm `json:"changes" xml:"change" doc:"notices whose state another window of the user changed" nullable:"false"`
	Cursor     string             `json:"cursor" xml:"cursor,attr" doc:"poll with it as after to get what follows"`
	Unread     int                `json:"unread" xml:"unread,attr" doc:"unread notices of these subscribers, exact to 999"`
	UnreadMore bool               `json:"unreadMore" xml:"unreadMore,attr,omitempty" doc:"there are more than 999"`
	More       bool               `json:"more" xml:"more,attr" doc:"the page is full and more is there already"`
	Reset      bool               `json:"reset" xml:"reset,attr" doc:"the cursor does not hold any more: forget what you have, this is a fresh window"`
	ResetForm
}

// ResetForm says why a cursor does not hold any more. Of a page it is empty where the cursor does. It is exported so that the schema has its
// fields where it is embedded.
type ResetForm struct {
	Reason ResetReason `json:"resetReason,omitempty" xml:"resetReason,attr,omitempty" doc:"why the cursor does not hold any more"`
	Missed *int        `json:"missed,omitempty" xml:"missed,attr,omitempty" minimum:"0" doc:"where it is known: how many notices were delivered after the cursor and will not come any more"`
}

// ResetReason is why a cursor does not hold any more: one of page.ResetReasons.
type ResetReason string

// NoticeChangeForm is a change of a notice's state.
type NoticeChangeForm struct {
	ID   string `json:"id" xml:"id,attr"`
	Kind string `json:"kind" xml:"kind,attr" enum:"read,acked"`
}

// UnreadForm is the data of the event unread.
type UnreadForm struct {
	Unread     int  `json:"unread" doc:"unread notices of these subscribers, exact to 999"`
	UnreadMore bool `json:"unreadMore" doc:"there are more than 999"`
}

// EndForm is the data of the event end.
type EndForm struct {
	Reason string `json:"reason" enum:"revoked,expired,shutdown,unavailable,failed"`
}

// SummaryForm is what a floating window shows.
type SummaryForm struct {
	XMLName    xml.Name      `json:"-" xml:"summary"`
	Unread     int           `json:"unread" xml:"unread,attr" doc:"unread notices, exact to 999"`
	UnreadMore bool          `json:"unreadMore" xml:"unreadMore,attr,omitempty" doc:"there are more than 999"`
	Popups     []notice.View `json:"popups" xml:"popups>notice" doc:"modal notices that the user has not acked, oldest first, 50 at most" nullable:"false"`
	PopupsMore bool          `json:"popupsMore" xml:"popupsMore,attr,omitempty" doc:"there are more than 50"`
	Latest     []notice.View `json:"latest" xml:"latest>notice" doc:"the last five, newest first" nullable:"false"`
	Rules      RuleCount     `json:"rules" xml:"rules"`
}

// RuleCount is how the enabled rules are that watch a warehouse.
type RuleCount struct {
	OK      int `json:"ok" xml:"ok,attr" doc:"whose last run went well, or that have not run yet"`
	Failing int `json:"failing" xml:"failing,attr" doc:"whose last run failed, that cannot run, or that are late"`
}

// ReadAllForm is the body of POST /notices/read-all.
type ReadAllForm struct {
	Warehouse   string   `json:"warehouse,omitempty" digits:"true" doc:"whose inboxes; may be left out by a token that has one" example:"119240"`
	UpTo        string   `json:"upTo" minLength:"1" doc:"a cursor of a page of this warehouse: everything that had been delivered by that page is read"`
	Subscribers []string `json:"subscribers,omitempty" doc:"the user, once, and the roles that it has; the inboxes of all of them are read. Without it, those of the token" nullable:"false"`
}

// PackForm is the answer of the WMS web service that old clients poll.
type PackForm struct {
	XMLName       xml.Name          `json:"-" xml:"packNotificationVo"`
	Warehouse     string            `json:"whId" xml:"whId"`
	LastFetch     int64             `json:"lastFetchTimeStamp" xml:"lastFetchTimeStamp" doc:"poll with it next; each notice comes once"`
	Unread        int               `json:"unreadCount" xml:"unreadCount" doc:"exact to 999"`
	Notifications NotificationsForm `json:"notifications" xml:"notifications"`
}

// NotificationsForm keeps the element there when it is empty.
type NotificationsForm struct {
	List []NotificationForm `json:"notification" xml:"notification" nullable:"false"`
}

// NotificationForm is a notice as old clients know it.
type NotificationForm struct {
	ID            string `json:"id" xml:"id"`
	Title         string `json:"title" xml:"title"`
	Body          string `json:"body" xml:"body"`
	CreateTime    int64  `json:"createTime" xml:"createTime" doc:"when it was delivered, in ms since 1970"`
	ExpireTime    int64  `json:"expireTime" xml:"expireTime" doc:"seconds of life from createTime"`
	Warehouse     string `json:"whId" xml:"whId"`
	MessageTypeID int64  `json:"messageTypeId" xml:"messageTypeId"`
}

// SendForm is a list of notices that a business system sends.
type SendForm struct {
	Notices []SendNoticeForm `json:"notices" minItems:"1" nullable:"false"`
}

// SendNoticeForm is a notice that a business system sends. It says something: data, or a title, or both. What it leaves out its type says.
type SendNoticeForm struct {
	Type       string                  `json:"type,omitempty" digits:"true" doc:"code of a type in the catalogue, or its id as a number or a text" example:"REP_NOTICE"`
	TypeID     int64                   `json:"typeId,omitempty" doc:"instead of type: its id" example:"124719"`
	Warehouse  string                  `json:"warehouse" digits:"true" doc:"whose inboxes get it; a number is taken, too" example:"119240"`
	Title      string                  `json:"title,omitempty" doc:"the title of the type where it is left out, or the name of the type"`
	Body       string                  `json:"body,omitempty" text:"lines" doc:"the body of the type where it is left out, or a list of the data"`
	Texts      map[string]SendTextForm `json:"texts,omitempty" doc:"title and body by language"`
	Data       SendData                `json:"data,omitempty" doc:"the typed fields of the type"`
	Priority   int                     `json:"priority,omitempty" doc:"5 is the highest; that of the type by default, or 3"`
	Order      string                  `json:"order,omitempty" digits:"decimal" maxLength:"40" doc:"in which order queues serve what is made of it, inside the priority, the lowest first: a number with at most three digits behind the point, or a time" example:"7.5"`
	Modal      string                  `json:"modal,omitempty" enum:"silent,popup" doc:"as the type says by default, or silent"`
	Labels     map[string]string       `json:"labels,omitempty" doc:"texts by name, beside those of the type"`
	Expires    string                  `json:"expires,omitempty" doc:"how long it lives, in s, m, h, d; the retention of the type by default" example:"24h"`
	Recipients []string                `json:"recipients,omitempty" nullable:"false" doc:"user:<id> or role:<id>; those who subscribe to the type in the warehouse by default"`
	Deliver    []DeliverForm           `json:"deliver,omitempty" nullable:"false" doc:"where it goes; by default as the type says, or to the inbox"`
}

// SendTextForm is a translation of title and body.
type SendTextForm struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty" text:"lines"`
}

// DeliverForm is a sink that a notice goes to. Push channels have a strategy; the inbox and queues are tried until they take it.
type DeliverForm struct {
	Sink     string `json:"sink" doc:"name of a configured sink" example:"inbox"`
	Strategy string `json:"strategy,omitempty" enum:"immediate,delayed,important,timed" default:"immediate" doc:"immediate: one attempt; delayed: later, and only unless; important: until it succeeds or the notice expires; timed: until within has passed"`
	Delay    string `json:"delay,omitempty" doc:"delayed: how long after now, in s, m, h, d" example:"10m"`
	At       string `json:"at,omitempty" doc:"delayed: when, instead of delay; RFC 3339" example:"2026-06-01T18:00:00+08:00"`
	Within   string `json:"within,omitempty" doc:"timed: for how long it is tried, in s, m, h, d" example:"30m"`
	Retry    int    `json:"retry,omitempty" minimum:"0" maximum:"100" doc:"delayed: how often it is tried again"`
	Unless   string `json:"unless,omitempty" enum:"read,acked" doc:"delayed: what makes it needless, by any recipient"`
	Until    string `json:"until,omitempty" enum:"sent" doc:"important: sent goes on after the notice has expired, until the channel takes it or an operator cancels"`
}

// SendData is the typed data as it was sent: what stands in it may mean more than Go's numbers can hold.
type SendData map[string]json.RawMessage

// SentForm is what became of the notices that were sent.
type SentForm struct {
	XMLName xml.Name         `json:"-" xml:"sent"`
	Notices []SentNoticeForm `json:"notices" xml:"notice" doc:"in the order of the request" nullable:"false"`
}

// SentNoticeForm is what became of one of them.
type SentNoticeForm struct {
	ID           string `json:"id" xml:"id"`
	Deliveries   int    `json:"deliveries" xml:"deliveries" doc:"that were made of it"`
	Unsubscribed int    `json:"unsubscribed,omitempty" xml:"unsubscribed,omitempty" doc:"sinks that it did not go to, because nobody there is to have it"`
}
