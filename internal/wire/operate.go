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

// SilenceForm is a silence in its present state.
type SilenceForm struct {
	XMLName     xml.Name    `json:"-" xml:"silence"`
	ID          string      `json:"id" xml:"id"`
	State       string      `json:"state" xml:"state" enum:"pending,active,expired" doc:"a recurring silence is pending between its windows"`
	Matchers    []string    `json:"matchers" xml:"matcher" doc:"the silence applies where all of its matchers match" nullable:"false"`
	From        time.Time   `json:"from" xml:"from"`
	Until       *time.Time  `json:"until,omitempty" xml:"until,omitempty" doc:"absent where the windows recur for ever"`
	Window      *WindowForm `json:"window,omitempty" xml:"window,omitempty" doc:"the silence is active only in these windows"`
	ActiveUntil *time.Time  `json:"activeUntil,omitempty" xml:"activeUntil,omitempty" doc:"of an active silence: when this activity ends, unless somebody ends the silence earlier"`
	Next        *time.Time  `json:"next,omitempty" xml:"next,omitempty" doc:"when the silence becomes active next"`
	Comment     string      `json:"comment,omitempty" xml:"comment,omitempty"`
	Author      string      `json:"author" xml:"author" doc:"the user or service that added the silence"`
	CreatedAt   time.Time   `json:"createdAt" xml:"createdAt"`
	EndedAt     *time.Time  `json:"endedAt,omitempty" xml:"endedAt,omitempty" doc:"when somebody ended the silence before its time"`
	EndedBy     string      `json:"endedBy,omitempty" xml:"endedBy,omitempty"`
	Findings    int         `json:"findings" xml:"findings" doc:"of an active silence: findings whose next notice it withholds now"`
	Deliveries  int         `json:"deliveries" xml:"deliveries" doc:"of an active silence: deliveries to push channels that it withholds now"`
	Events      int64       `json:"events" xml:"events" doc:"number of rows of event rules that the silence has dropped"`
	Warning     string      `json:"warning,omitempty" xml:"warning,omitempty" doc:"why the silence can withhold nothing that the answering node knows of, with a code. Absent once the silence is over"`
}

// WindowForm is when a maintenance window is open.
type WindowForm struct {
	Cron     string `json:"cron" xml:"cron" doc:"when the window opens" example:"0 22 * * 6"`
	Timezone string `json:"timezone,omitempty" xml:"timezone,omitempty" doc:"time zone of the cron; UTC by default" example:"Asia/Shanghai"`
	Duration string `json:"duration" xml:"duration" doc:"how long the window stays open: from one minute to 31 days, and shorter than the time between two openings" example:"8h"`
}

// SilenceFields are the fields of a new silence.
type SilenceFields struct {
	Matchers []string    `json:"matchers" doc:"NAME=TEXT, NAME!=TEXT, NAME=~EXPRESSION or NAME!~EXPRESSION. All of them must match. NAME is rule, type, warehouse, scope, key, or the name of a label (labels.key is the label called key). A key is the key of a finding as its notice carries it, or the key of a group. An EXPRESSION (RE2) must match the whole text" example:"[\"rule=negative-bin-stock\",\"warehouse=~1192.*\"]" nullable:"false"`
	From     *time.Time  `json:"from,omitempty" doc:"when the silence begins; now by default"`
	Until    *time.Time  `json:"until,omitempty" doc:"when the silence ends. Give until or for; a silence with a window needs neither"`
	For      string      `json:"for,omitempty" doc:"how long the silence lasts from its beginning" example:"2h"`
	Window   *WindowForm `json:"window,omitempty" doc:"the silence is active only in these windows, between from and until"`
	Comment  string      `json:"comment,omitempty" text:"lines" doc:"the reason, for other people; at most 1000 bytes" example:"stocktake"`
}

// SubscribersForm is a page of the address book.
type SubscribersForm struct {
	XMLName     xml.Name         `json:"-" xml:"subscribers"`
	Subscribers []SubscriberForm `json:"subscribers" xml:"subscriber" doc:"in the order of their ids" nullable:"false"`
	Cursor      string           `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"present where there are more: send it as after to get the next page"`
}

// SubscriberForm is an entry of the address book.
type SubscriberForm struct {
	XMLName xml.Name `json:"-" xml:"subscriber"`
	ID      string   `json:"id" xml:"id" doc:"user:<id> or role:<id>" example:"user:ann"`
	SubscriberFields
}

// SubscriberFields are the fields of an entry of the address book.
type SubscriberFields struct {
	Name     string       `json:"name,omitempty" xml:"name,omitempty" doc:"name of the person or role, at most 200 characters" example:"Ann Lee"`
	Language string       `json:"language,omitempty" xml:"language,omitempty" doc:"language of the texts that are pushed to the subscriber, such as zh" example:"zh"`
	Mail     []string     `json:"mail,omitempty" xml:"mail,omitempty" doc:"mail addresses, at most 50, each with or without a name. A mail goes to all of them" example:"[\"Ann Lee <ann@example.com>\"]" nullable:"false"`
	Phone    string       `json:"phone,omitempty" xml:"phone,omitempty" doc:"phone number in the form that the gateway wants, 3 to 40 characters" example:"+8613800000000"`
	Alias    string       `json:"alias,omitempty" xml:"alias,omitempty" doc:"name by which other systems know the subscriber, at most 200 bytes" example:"ann.lee"`
	Tags     []string     `json:"tags,omitempty" xml:"tag,omitempty" doc:"groups of the subscriber in other systems, at most 50 of 100 bytes each" example:"[\"night-shift\"]" nullable:"false"`
	Channels ChannelsForm `json:"channels,omitempty" xml:"channels,omitempty" doc:"addresses in other channels, by the name of the channel; at most 20 of 2000 bytes each" example:"{\"jpush\":\"170976fa8ab9e6a2b1f\"}"`
}

// ChannelsForm is addresses by the name of the channel. In XML each address is a <channel name=>, in the order of the
// names.
type ChannelsForm map[string]string

// MarshalXML writes the addresses one by one.
func (f ChannelsForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return encodeTexts(e, start, f, "channel", "name")
}

// SubscriptionsForm is a page of subscriptions.
type SubscriptionsForm struct {
	XMLName       xml.Name                 `json:"-" xml:"subscriptions"`
	Subscriptions []ListedSubscriptionForm `json:"subscriptions" xml:"subscription" doc:"in the order of type, warehouse, subscriber" nullable:"false"`
	Cursor        string                   `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"present where there are more: send it as after to get the next page"`
}

// ListedSubscriptionForm is a subscription in a list.
type ListedSubscriptionForm struct {
	Type       string `json:"type" xml:"type" doc:"code of a type in the catalogue" example:"REP_NOTICE"`
	Warehouse  string `json:"warehouse" xml:"warehouse" doc:"a warehouse, or * for all" example:"*"`
	Subscriber string `json:"subscriber" xml:"subscriber" doc:"user:<id> or role:<id>" example:"role:keeper"`
	Origin     string `json:"origin,omitempty" xml:"origin,omitempty" doc:"the source whose query lists the subscription; nobody can remove it by hand. Absent where the subscription was made by hand" example:"wms"`
	Warning    string `json:"warning,omitempty" xml:"warning,omitempty" doc:"why no rule serves the subscription, with a code. Business systems may still send notices of the type"`
}

// SubscriptionForm is a subscription in a request.
type SubscriptionForm struct {
	XMLName    xml.Name `json:"-" xml:"subscription"`
	Type       string   `json:"type" xml:"type" digits:"true" doc:"code of a type in the catalogue. The id of the type is accepted as well, as a number or a text" example:"REP_NOTICE"`
	Warehouse  string   `json:"warehouse" xml:"warehouse" digits:"true" doc:"a warehouse, or * for all. A number is accepted as well" example:"*"`
	Subscriber string   `json:"subscriber" xml:"subscriber" doc:"user:<id> or role:<id>" example:"role:keeper"`
}

// ImportForm is a list of subscriptions to add.
type ImportForm struct {
	Subscriptions []SubscriptionForm `json:"subscriptions" maxItems:"10000" nullable:"false"`
}

// ImportedForm is the result of an import.
type ImportedForm struct {
	XMLName xml.Name `json:"-" xml:"imported"`
	Added   int      `json:"added" xml:"added" doc:"number of new subscriptions"`
	Present int      `json:"present" xml:"present" doc:"number of subscriptions that existed already"`
}

// TypesForm is the catalogue.
type TypesForm struct {
	XMLName xml.Name   `json:"-" xml:"types"`
	Types   []TypeForm `json:"types" xml:"type" doc:"in the order of their codes" nullable:"false"`
}

// TypeForm is an entry of the catalogue as the API reads and writes it.
type TypeForm struct {
	XMLName   xml.Name   `json:"-" xml:"type"`
	Code      string     `json:"code" xml:"code" pattern:"^[A-Z][A-Z0-9_]{0,63}$" doc:"unique code by which rules and subscriptions name the type" example:"REP_NOTICE"`
	ID        int64      `json:"id" xml:"id" minimum:"1" doc:"unique number by which the WMS knows the type" example:"124719"`
	Name      string     `json:"name" xml:"name" minLength:"1" maxLength:"200"`
	Names     namesForm  `json:"names,omitempty" xml:"names,omitempty" doc:"names by language" example:"{\"zh\":\"补货通知\"}"`
	Category  string     `json:"category,omitempty" xml:"category,omitempty" maxLength:"64"`
	Retention string     `json:"retention,omitempty" xml:"retention" doc:"how long notices of the type live, unless their rule or sender says otherwise; in s, m, h, d; 72h by default" example:"72h"`
	Fields    FieldsForm `json:"fields,omitempty" xml:"fields,omitempty" doc:"the typed data of the type's notices"`
	TypeDefaultsForm
	Expires string `json:"expires,omitempty" xml:"-" doc:"another name for retention, as in rules and sent notices. Answers only have retention" example:"72h"`
}

// TypeDefaultsForm is the defaults of a type. A notice takes a default where its rule or sender sets no value.
type TypeDefaultsForm struct {
	Title    WordsForm         `json:"title,omitempty" xml:"title,omitempty" text:"lines" doc:"templates over the fields, by language. The empty language is for readers of all other languages" example:"{\"en\":\"Refill {{ .bin }}\",\"zh\":\"补货 {{ .bin }}\"}"`
	Body     WordsForm         `json:"body,omitempty" xml:"body,omitempty" text:"lines" doc:"templates over the fields, by language, as in title"`
	Priority int               `json:"priority,omitempty" xml:"priority,omitempty" minimum:"1" maximum:"5" doc:"5 is the highest; 3 by default"`
	Modal    string            `json:"modal,omitempty" xml:"modal,omitempty" enum:"silent,popup" doc:"silent by default"`
	Labels   labelsForm        `json:"labels,omitempty" xml:"labels,omitempty" doc:"texts by name. A label of the rule or the sender replaces the type's label of the same name"`
	Deliver  []TypeDeliverForm `json:"deliver,omitempty" xml:"deliver,omitempty" nullable:"false" doc:"the sinks of the type's notices. Sent notices go to the inbox by default"`
}

// TypeDeliverForm is a sink that the notices of a type go to.
type TypeDeliverForm struct {
	Sink     string `json:"sink" xml:"sink" doc:"name of a configured sink" example:"inbox"`
	Strategy string `json:"strategy,omitempty" xml:"strategy,omitempty" enum:"immediate,delayed,important,timed" doc:"for a push channel; immediate by default"`
	Delay    string `json:"delay,omitempty" xml:"delay,omitempty" doc:"for delayed: time from the notice to the first attempt, in s, m, h, d" example:"10m"`
	Within   string `json:"within,omitempty" xml:"within,omitempty" doc:"for timed: how long the delivery is tried" example:"30m"`
	Retry    int    `json:"retry,omitempty" xml:"retry,omitempty" minimum:"0" maximum:"100" doc:"for delayed: number of attempts after the first"`
	Unless   string `json:"unless,omitempty" xml:"unless,omitempty" enum:"read,acked,resolved" doc:"for delayed: what makes the delivery needless"`
}

// PreviewTypeForm asks for the preview of a notice of a type.
type PreviewTypeForm struct {
	Data SendData  `json:"data,omitempty" doc:"values for the typed fields of the type"`
	Type *TypeForm `json:"type,omitempty" doc:"draft that replaces the type; without it, the type in the catalogue is used"`
}

// TypePreviewForm is the preview of a notice whose sender gives only the type and the data.
type TypePreviewForm struct {
	XMLName  xml.Name          `json:"-" xml:"preview"`
	Type     string            `json:"type" xml:"type" example:"REP_NOTICE"`
	Texts    []TranslationForm `json:"texts" xml:"text" doc:"title and body by language. The empty language comes first and is for readers of all other languages" nullable:"false"`
	Priority int               `json:"priority" xml:"priority"`
	Modal    string            `json:"modal" xml:"modal" enum:"silent,popup"`
	Expires  string            `json:"expires" xml:"expires" doc:"how long the notice lives" example:"72h"`
	Labels   labelsForm        `json:"labels,omitempty" xml:"labels,omitempty"`
	Deliver  []TypeDeliverForm `json:"deliver" xml:"deliver" nullable:"false"`
}

// WordsForm is texts by language. In XML each text is a <text language=>, in the order of the languages.
type WordsForm map[string]string

// MarshalXML writes the texts one by one.
func (f WordsForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return encodeTexts(e, start, f, "text", "language")
}

// Texts returns the texts by language, or nil where there are none.
func (f WordsForm) Texts() map[string]string {
	if len(f) == 0 {
		return nil
	}
	return f
}

// labelsForm is labels by name. In XML each label is a <label name=>, in the order of the names.
type labelsForm map[string]string

// MarshalXML writes the labels one by one.
func (f labelsForm) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	return encodeTexts(e, start, f, "label", "name")
}

// namesForm is names by language. In XML each name is a <name language=>, in the order of the languages.
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

// FieldsForm is fields by name. In XML each field is a <field name= type= required=>, in the order of the names.
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

// MeForm is the caller and the caller's rights.
type MeForm struct {
	XMLName     xml.Name   `json:"-" xml:"me"`
	Subject     string     `json:"subject" xml:"subject" example:"user:ann" doc:"the caller; anonymous with auth.mode none"`
	Name        string     `json:"name,omitempty" xml:"name,omitempty" doc:"the user's name in the address book"`
	Roles       []string   `json:"roles" xml:"roles>role" doc:"the roles that decide what the caller may do" nullable:"false"`
	Warehouses  []string   `json:"warehouses" xml:"warehouses>warehouse" doc:"the warehouses that the caller may see and change; * = all" nullable:"false"`
	Subscribers []string   `json:"subscribers,omitempty" xml:"subscribers>subscriber,omitempty" doc:"the subscribers whose inboxes belong to the caller" nullable:"false"`
	Mode        string     `json:"mode" xml:"mode" enum:"token,none" doc:"auth.mode; with none, no request needs a token"`
	Token       string     `json:"token,omitempty" xml:"token,omitempty" doc:"id of the API token; absent for a JWT" example:"t_5rmwxhkqj2ab"`
	Expires     *time.Time `json:"expires,omitempty" xml:"expires,omitempty" doc:"when the token expires"`
	May         []string   `json:"may" xml:"may>operation" doc:"ids of the operations that the roles allow, sorted" nullable:"false"`
	Clock       NowForm    `json:"clock" xml:"clock" doc:"the current time, for pages that show how long ago something was"`
}

// NowForm is the same moment on the two clocks of a node.
type NowForm struct {
	At      time.Time `json:"at" xml:"at" doc:"time by the clock of rules, findings, notices and deliveries"`
	Machine time.Time `json:"machine" xml:"machine" doc:"time by the machine's clock, which queues, breakers and tokens use"`
	Rate    float64   `json:"rate" xml:"rate" doc:"speed of the first clock relative to the machine's clock: 1, except in the demo"`
}

// TokenAskForm asks for a new token.
type TokenAskForm struct {
	Name        string   `json:"name,omitempty" maxLength:"100" doc:"what the token is for; the subject by default"`
	Subject     string   `json:"subject" doc:"who uses the token: user:<id> or service:<id>" example:"service:wms"`
	Access      []string `json:"access" enum:"client,service,producer,worker,viewer,operator,admin" doc:"the roles of the token" example:"[\"service\"]" nullable:"false"`
	Subscribers []string `json:"subscribers,omitempty" doc:"for a client: the subscribers whose notices it gets besides those of its subject, user:<id> or role:<id>" nullable:"false"`
	Warehouses  []string `json:"warehouses,omitempty" digits:"true" doc:"the warehouses that the token allows; * = all. A client, service or producer must name its warehouses; for other roles * is the default" nullable:"false"`
	Expires     string   `json:"expires,omitempty" doc:"when the token expires: RFC 3339, or a duration from now in s, m, h, d; never by default" example:"90d"`
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
	Expires     *time.Time `json:"expires,omitempty" xml:"expires,omitempty" doc:"absent = the token never expires"`
	Used        *time.Time `json:"used,omitempty" xml:"used,omitempty" doc:"time of the last use, to about a minute"`
	Revoked     *time.Time `json:"revoked,omitempty" xml:"revoked,omitempty"`
	RevokedBy   string     `json:"revokedBy,omitempty" xml:"revokedBy,omitempty"`
}

// NewTokenForm is a new token with its secret.
type NewTokenForm struct {
	TokenForm
	Secret string `json:"secret" xml:"secret" doc:"the secret, to send as Authorization: Bearer. The server shows it only in this answer"`
}

// AuditForm is a page of recorded changes.
type AuditForm struct {
	XMLName xml.Name          `json:"-" xml:"audit"`
	Changes []AuditChangeForm `json:"changes" xml:"change" doc:"the latest first" nullable:"false"`
	Cursor  string            `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"present where there are earlier changes: send it as after to get the next page"`
}

// AuditChangeForm is one recorded change.
type AuditChangeForm struct {
	ID     int64      `json:"id" xml:"id,attr"`
	At     time.Time  `json:"at" xml:"at"`
	By     string     `json:"by" xml:"by" doc:"author of the change: user:<id>, service:<id>, local:<user> for a user of the machine who opened the ledger directly, or node:<name> for a change that no person asked for"`
	Via    string     `json:"via" xml:"via" doc:"how the author was authenticated. token:<id>: an API token. jwt: a JWT. none: auth.mode none. local: a user of the machine who opened the ledger directly. file: rule files were read. start: a node started. node: a node found a restored ledger. clock: a node saw that the ledger's clock was set. Older records have api or cli, which the client chose itself" example:"token:t_5rmwxhkqj2ab"`
	Action string     `json:"action" xml:"action" example:"rule.disable"`
	Object string     `json:"object" xml:"object" example:"rule:negative-bin-stock"`
	Before AuditState `json:"before,omitempty" xml:"before,omitempty" doc:"the state before the change; absent where there was no state or it does not matter"`
	After  AuditState `json:"after,omitempty" xml:"after,omitempty" doc:"the state after the change, or what was asked for and done"`
	Reason string     `json:"reason,omitempty" xml:"reason,omitempty"`
}
