package wire

import (
	"encoding/xml"
	"maps"
	"slices"
	"time"
)

// SilencesForm is a list of silences.
type SilencesForm struct {
	XMLName  xml.Name      `json:"-" xml:"silences"`
	Silences []SilenceForm `json:"silences" xml:"silence" doc:"the latest first" nullable:"false"`
}

// SilenceForm is a silence as it stands.
type SilenceForm struct {
	XMLName     xml.Name    `json:"-" xml:"silence"`
	ID          string      `json:"id" xml:"id"`
	State       string      `json:"state" xml:"state" enum:"pending,active,expired" doc:"a recurring one is pending between its windows"`
	Matchers    []string    `json:"matchers" xml:"matcher" doc:"all of them have to match" nullable:"false"`
	From        time.Time   `json:"from" xml:"from"`
	Until       *time.Time  `json:"until,omitempty" xml:"until,omitempty" doc:"absent where its windows recur for ever"`
	Window      *WindowForm `json:"window,omitempty" xml:"window,omitempty" doc:"it is active in these windows alone"`
	ActiveUntil *time.Time  `json:"activeUntil,omitempty" xml:"activeUntil,omitempty" doc:"active: until when, unless somebody ends it"`
	Next        *time.Time  `json:"next,omitempty" xml:"next,omitempty" doc:"when it will be active next"`
	Comment     string      `json:"comment,omitempty" xml:"comment,omitempty"`
	Author      string      `json:"author" xml:"author" doc:"who has added it"`
	CreatedAt   time.Time   `json:"createdAt" xml:"createdAt"`
	EndedAt     *time.Time  `json:"endedAt,omitempty" xml:"endedAt,omitempty" doc:"somebody has ended it before its time"`
	EndedBy     string      `json:"endedBy,omitempty" xml:"endedBy,omitempty"`
	Findings    int         `json:"findings" xml:"findings" doc:"active: findings that have something to tell, and are held back now"`
	Deliveries  int         `json:"deliveries" xml:"deliveries" doc:"active: deliveries to push channels that are held back now"`
	Events      int64       `json:"events" xml:"events" doc:"rows of rules of mode event that it has dropped"`
	Warning     string      `json:"warning,omitempty" xml:"warning,omitempty" doc:"not over: why it can hold back nothing that the answering node knows of, with a code"`
}

// WindowForm is when a maintenance window is open.
type WindowForm struct {
	Cron     string `json:"cron" xml:"cron" doc:"when it opens" example:"0 22 * * 6"`
	Timezone string `json:"timezone,omitempty" xml:"timezone,omitempty" doc:"of the cron; UTC by default" example:"Asia/Shanghai"`
	Duration string `json:"duration" xml:"duration" doc:"how long it stays open: at least a minute, at most 31 days, and shorter than the time between two openings" example:"8h"`
}

// SilenceFields are what a new silence is made of.
type SilenceFields struct {
	Matchers []string    `json:"matchers" doc:"NAME=TEXT, NAME!=TEXT, NAME=~EXPRESSION or NAME!~EXPRESSION, all of which have to match; a name is rule, type, warehouse, scope, key, or that of a label (labels.key is a label called key). A key is that of a finding as its notice carries it, or of a group. An expression (RE2) fits the whole text" example:"[\"rule=negative-bin-stock\",\"warehouse=~1192.*\"]" nullable:"false"`
	From     *time.Time  `json:"from,omitempty" doc:"when it begins; now by default"`
	Until    *time.Time  `json:"until,omitempty" doc:"when it ends; this or for, but for a window needs neither"`
	For      string      `json:"for,omitempty" doc:"how long it lasts from its beginning" example:"2h"`
	Window   *WindowForm `json:"window,omitempty" doc:"makes it active in these windows alone, between from and until"`
	Comment  string      `json:"comment,omitempty" text:"lines" doc:"why, for those who wonder; at most 1000 bytes" example:"stocktake"`
}

// SubscribersForm is a page of the address book.
type SubscribersForm struct {
	XMLName     xml.Name         `json:"-" xml:"subscribers"`
	Subscribers []SubscriberForm `json:"subscribers" xml:"subscriber" doc:"in the order of their ids" nullable:"false"`
	Cursor      string           `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
}

// SubscriberForm is an entry of the address book.
type SubscriberForm struct {
	XMLName xml.Name `json:"-" xml:"subscriber"`
	ID      string   `json:"id" xml:"id" doc:"user:<id> or role:<id>" example:"user:ann"`
	SubscriberFields
}

// SubscriberFields are what the address book knows of a subscriber.
type SubscriberFields struct {
	Name     string       `json:"name,omitempty" xml:"name,omitempty" doc:"of the person or role, at most 200 characters" example:"Ann Lee"`
	Language string       `json:"language,omitempty" xml:"language,omitempty" doc:"of the texts that are pushed to it, as zh" example:"zh"`
	Mail     []string     `json:"mail,omitempty" xml:"mail,omitempty" doc:"addresses, at most 50, with or without a name; a mail goes to all of them" example:"[\"Ann Lee <ann@example.com>\"]" nullable:"false"`
	Phone    string       `json:"phone,omitempty" xml:"phone,omitempty" doc:"a number as the gateway wants it, 3 to 40 characters" example:"+8613800000000"`
	Alias    string       `json:"alias,omitempty" xml:"alias,omitempty" doc:"the name by which other systems know it, at most 200 bytes" example:"ann.lee"`
	Tags     []string     `json:"tags,omitempty" xml:"tag,omitempty" doc:"groups of other systems, at most 50 of 100 bytes each" example:"[\"night-shift\"]" nullable:"false"`
	Channels ChannelsForm `json:"channels,omitempty" xml:"channels,omitempty" doc:"addresses in other channels by the channel's name, at most 20 of 2000 bytes each" example:"{\"jpush\":\"170976fa8ab9e6a2b1f\"}"`
}

// ChannelsForm is addresses by the name of the channel; in XML <channel name=> in the order of the names.
type ChannelsForm map[string]string

// MarshalXML writes the addresses one by one.
func (f ChannelsForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return encodeTexts(e, start, f, "channel", "name")
}

// SubscriptionsForm is a page of subscriptions.
type SubscriptionsForm struct {
	XMLName       xml.Name                 `json:"-" xml:"subscriptions"`
	Subscriptions []ListedSubscriptionForm `json:"subscriptions" xml:"subscription" doc:"in the order of type, warehouse, subscriber" nullable:"false"`
	Cursor        string                   `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
}

// ListedSubscriptionForm is a subscription in a list.
type ListedSubscriptionForm struct {
	Type       string `json:"type" xml:"type" doc:"code of a type in the catalogue" example:"REP_NOTICE"`
	Warehouse  string `json:"warehouse" xml:"warehouse" doc:"a warehouse, or * for all" example:"*"`
	Subscriber string `json:"subscriber" xml:"subscriber" doc:"user:<id> or role:<id>" example:"role:keeper"`
	Origin     string `json:"origin,omitempty" xml:"origin,omitempty" doc:"the source whose query returns it: nobody can remove it by hand; absent where it was made by hand" example:"wms"`
	Warning    string `json:"warning,omitempty" xml:"warning,omitempty" doc:"why no rule serves it, with a code; what business systems send is not known"`
}

// SubscriptionForm is a subscription as the API speaks it.
type SubscriptionForm struct {
	XMLName    xml.Name `json:"-" xml:"subscription"`
	Type       string   `json:"type" xml:"type" digits:"true" doc:"code of a type in the catalogue; its id is taken, too, as a number or a text" example:"REP_NOTICE"`
	Warehouse  string   `json:"warehouse" xml:"warehouse" digits:"true" doc:"a warehouse, or * for all; a number is taken, too" example:"*"`
	Subscriber string   `json:"subscriber" xml:"subscriber" doc:"user:<id> or role:<id>" example:"role:keeper"`
}

// ImportForm is a list of subscriptions to add.
type ImportForm struct {
	Subscriptions []SubscriptionForm `json:"subscriptions" maxItems:"10000" nullable:"false"`
}

// ImportedForm is what became of an import.
type ImportedForm struct {
	XMLName xml.Name `json:"-" xml:"imported"`
	Added   int      `json:"added" xml:"added" doc:"that were new"`
	Present int      `json:"present" xml:"present" doc:"that were there already"`
}

// TypesForm is the catalogue.
type TypesForm struct {
	XMLName xml.Name   `json:"-" xml:"types"`
	Types   []TypeForm `json:"types" xml:"type" doc:"in the order of their codes" nullable:"false"`
}

// TypeForm is an entry of the catalogue as the API speaks it.
type TypeForm struct {
	XMLName   xml.Name   `json:"-" xml:"type"`
	Code      string     `json:"code" xml:"code" pattern:"^[A-Z][A-Z0-9_]{0,63}$" doc:"unique; rules and subscriptions name it" example:"REP_NOTICE"`
	ID        int64      `json:"id" xml:"id" minimum:"1" doc:"unique; the number that the WMS knows the type by" example:"124719"`
	Name      string     `json:"name" xml:"name" minLength:"1" maxLength:"200"`
	Names     namesForm  `json:"names,omitempty" xml:"names,omitempty" doc:"the name by language" example:"{\"zh\":\"补货通知\"}"`
	Category  string     `json:"category,omitempty" xml:"category,omitempty" maxLength:"64"`
	Retention string     `json:"retention,omitempty" xml:"retention" doc:"how long its notices live unless their rule or sender says otherwise, in s, m, h, d; 72h by default" example:"72h"`
	Fields    FieldsForm `json:"fields,omitempty" xml:"fields,omitempty" doc:"the typed data of its notices"`
	TypeDefaultsForm
	Expires string `json:"expires,omitempty" xml:"-" doc:"another word for retention, as rules and senders call it; answers have retention" example:"72h"`
}

// TypeDefaultsForm is what notices of a type say, and how they go, where neither their rule nor their sender says it.
type TypeDefaultsForm struct {
	Title    WordsForm         `json:"title,omitempty" xml:"title,omitempty" text:"lines" doc:"templates over the fields, by language; the empty language is for readers of all others" example:"{\"en\":\"Refill {{ .bin }}\",\"zh\":\"补货 {{ .bin }}\"}"`
	Body     WordsForm         `json:"body,omitempty" xml:"body,omitempty" text:"lines" doc:"as title"`
	Priority int               `json:"priority,omitempty" xml:"priority,omitempty" minimum:"1" maximum:"5" doc:"5 is the highest; 3 by default"`
	Modal    string            `json:"modal,omitempty" xml:"modal,omitempty" enum:"silent,popup" doc:"silent by default"`
	Labels   labelsForm        `json:"labels,omitempty" xml:"labels,omitempty" doc:"texts by name; those of the rule or the sender win"`
	Deliver  []TypeDeliverForm `json:"deliver,omitempty" xml:"deliver,omitempty" nullable:"false" doc:"where its notices go; those of a sender by default to the inbox"`
}

// TypeDeliverForm is a sink that the notices of a type go to.
type TypeDeliverForm struct {
	Sink     string `json:"sink" xml:"sink" doc:"name of a configured sink" example:"inbox"`
	Strategy string `json:"strategy,omitempty" xml:"strategy,omitempty" enum:"immediate,delayed,important,timed" doc:"of a push channel; immediate by default"`
	Delay    string `json:"delay,omitempty" xml:"delay,omitempty" doc:"delayed: how long after the notice, in s, m, h, d" example:"10m"`
	Within   string `json:"within,omitempty" xml:"within,omitempty" doc:"timed: for how long it is tried" example:"30m"`
	Retry    int    `json:"retry,omitempty" xml:"retry,omitempty" minimum:"0" maximum:"100" doc:"delayed: how often it is tried again"`
	Unless   string `json:"unless,omitempty" xml:"unless,omitempty" enum:"read,acked,resolved" doc:"delayed: what makes it needless"`
}

// PreviewTypeForm is a notice that is made to see what it says.
type PreviewTypeForm struct {
	Data SendData  `json:"data,omitempty" doc:"the typed fields of the type"`
	Type *TypeForm `json:"type,omitempty" doc:"a draft that stands for the type; the type of the catalogue by default"`
}

// TypePreviewForm is what a notice of a type would say, and how it would go, if its sender gave the data alone.
type TypePreviewForm struct {
	XMLName  xml.Name          `json:"-" xml:"preview"`
	Type     string            `json:"type" xml:"type" example:"REP_NOTICE"`
	Texts    []TranslationForm `json:"texts" xml:"text" doc:"title and body; the empty language, which is first, is for readers of all others" nullable:"false"`
	Priority int               `json:"priority" xml:"priority"`
	Modal    string            `json:"modal" xml:"modal" enum:"silent,popup"`
	Expires  string            `json:"expires" xml:"expires" doc:"how long the notice lives" example:"72h"`
	Labels   labelsForm        `json:"labels,omitempty" xml:"labels,omitempty"`
	Deliver  []TypeDeliverForm `json:"deliver" xml:"deliver" nullable:"false"`
}

// WordsForm is a text by language; in XML <text language=> in the order of the languages.
type WordsForm map[string]string

// MarshalXML writes the texts one by one.
func (f WordsForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return encodeTexts(e, start, f, "text", "language")
}

// Texts are the texts by language; nil of none.
func (f WordsForm) Texts() map[string]string {
	if len(f) == 0 {
		return nil
	}
	return f
}

// labelsForm is the labels by name; in XML <label name=> in the order of the names.
type labelsForm map[string]string

// MarshalXML writes the labels one by one.
func (f labelsForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return encodeTexts(e, start, f, "label", "name")
}

// namesForm is the name by language; in XML <name language=> in the order of the languages.
type namesForm map[string]string

// MarshalXML writes the names one by one.
func (f namesForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return encodeTexts(e, start, f, "name", "language")
}

// encodeTexts writes an element for each text, with its key as an attribute, in the order of the keys.
func encodeTexts(e *xml.Encoder, start xml.StartElement, texts map[string]string, element, attribute string) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		one := xml.StartElement{Name: xml.Name{Local: element}, Attr: []xml.Attr{{Name: xml.Name{Local: attribute}, Value: key}}}
		if err := e.EncodeElement(texts[key], one); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// FieldsForm is the fields by name; in XML <field name= type= required=> in the order of the names.
type FieldsForm map[string]FieldForm

// MarshalXML writes the fields one by one.
func (f FieldsForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	type named struct {
		Name string `xml:"name,attr"`
		FieldForm
	}
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if err := e.EncodeElement(named{name, f[name]}, xml.StartElement{Name: xml.Name{Local: "field"}}); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// FieldForm is a field of a type's data.
type FieldForm struct {
	Type     string `json:"type" xml:"type,attr" enum:"string,int,decimal,bool,time"`
	Required bool   `json:"required,omitempty" xml:"required,attr"`
}

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
	Clock       NowForm    `json:"clock" xml:"clock" doc:"what time it is: for pages that show how long ago something was"`
}

// NowForm is one moment on the two clocks of a node.
type NowForm struct {
	At      time.Time `json:"at" xml:"at" doc:"by the clock of rules, findings, notices and deliveries"`
	Machine time.Time `json:"machine" xml:"machine" doc:"by the machine's, which queues, breakers and tokens go by"`
	Rate    float64   `json:"rate" xml:"rate" doc:"how many times as fast as the machine's the former runs: 1, but for the demo"`
}

// TokenAskForm is what a token is to be.
type TokenAskForm struct {
	Name        string   `json:"name,omitempty" maxLength:"100" doc:"what it is for; the subject by default"`
	Subject     string   `json:"subject" doc:"who uses it: user:<id> or service:<id>" example:"service:wms"`
	Access      []string `json:"access" enum:"client,service,producer,worker,viewer,operator,admin" doc:"what it may do" example:"[\"service\"]" nullable:"false"`
	Subscribers []string `json:"subscribers,omitempty" doc:"of a client: whose notices it gets, user:<id> or role:<id>, besides its subject" nullable:"false"`
	Warehouses  []string `json:"warehouses,omitempty" digits:"true" doc:"where, * = everywhere. A client, service or producer needs them, others are everywhere by default" nullable:"false"`
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

// AuditForm is a page of changes.
type AuditForm struct {
	XMLName xml.Name          `json:"-" xml:"audit"`
	Changes []AuditChangeForm `json:"changes" xml:"change" doc:"the latest first" nullable:"false"`
	Cursor  string            `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are earlier ones: ask with it as after"`
}

// AuditChangeForm is something that somebody changed.
type AuditChangeForm struct {
	ID     int64      `json:"id" xml:"id,attr"`
	At     time.Time  `json:"at" xml:"at"`
	By     string     `json:"by" xml:"by" doc:"user:<id>, service:<id>, local:<user> of who has opened the ledger itself, or node:<name> of what no person asked for"`
	Via    string     `json:"via" xml:"via" doc:"how they were authenticated: token:<id> of an API token, jwt, none (auth.mode none), or local, a user of the machine who has opened the ledger itself; file, start, node and clock: rule files that were read, a node that has started, one that has found a restored ledger, and one that has seen that the ledger's clock was set. Older records have api or cli, which the client said of itself" example:"token:t_5rmwxhkqj2ab"`
	Action string     `json:"action" xml:"action" example:"rule.disable"`
	Object string     `json:"object" xml:"object" example:"rule:negative-bin-stock"`
	Before AuditState `json:"before,omitempty" xml:"before,omitempty" doc:"the state before; absent where there was none or it does not matter"`
	After  AuditState `json:"after,omitempty" xml:"after,omitempty" doc:"the state after, or what was asked and done"`
	Reason string     `json:"reason,omitempty" xml:"reason,omitempty"`
}
