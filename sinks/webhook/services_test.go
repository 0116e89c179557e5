package webhook_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"tallyman/internal/config"
	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/sinktest"
	"tallyman/sinks/webhook"
)

// addressBook is one in memory.
type addressBook map[string]delivery.Subscriber

func (b addressBook) Subscribers(_ context.Context, ids []string) (map[string]delivery.Subscriber, error) {
	found := map[string]delivery.Subscriber{}
	for _, id := range ids {
		if s, ok := b[id]; ok {
			s.ID = id
			found[id] = s
		}
	}
	return found, nil
}

// everyone has all addresses but Bob's, who has a phone alone.
var everyone = addressBook{
	"user:ann":  {Name: "Ann", Language: "zh", Phone: "+8613800000000", Channels: map[string]string{"jpush": "170976fa8ab9e6a2b1f", "fcm": "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1", "wecom": "LiAn"}},
	"user:ben":  {Phone: "+447700900123", Channels: map[string]string{"jpush": "1a0018970a8f1e2d3c4", "wecom": "BenW"}},
	"user:bob":  {Phone: "+15558675310"},
	"user:none": {Name: "None"},
}

// service is a server that behaves as the documentation of a service says. It answers with a status and a text.
type service func(r testenv.HTTPRequest) (int, string)

// documented makes the sink that docs/how-to/channels.md shows under that name. It calls the server instead of the services' hosts.
func documented(t *testing.T, name string, server *testenv.HTTPServer, env ...string) sinks.Channel {
	t.Helper()
	words, err := os.ReadFile("../../docs/how-to/channels.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(sinks:\n.*?)```").FindAllStringSubmatch(string(words), -1) {
		if !strings.HasPrefix(block[1], "sinks:\n  "+name+":\n") {
			continue
		}
		return opened(t, regexp.MustCompile(`https://(([^@" ]*@)?)[^/" ]+`).ReplaceAllStringFunc(block[1], func(address string) string {
			if strings.Contains(address, "www.googleapis.com") { // a scope
				return address
			}
			credentials, _, found := strings.Cut(strings.TrimPrefix(address, "https://"), "@")
			if found {
				credentials += "@"
			} else {
				credentials = ""
			}
			return "http://" + credentials + server.Listener.Addr().String()
		})+"    allow_private: true\n", name, env...)
	}
	t.Fatalf("docs/how-to/channels.md shows no sink %s", name)
	return nil
}

// opened makes the sink of a configuration.
func opened(t *testing.T, text, name string, env ...string) sinks.Channel {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "tallyman.yaml")
	write(t, filepath.Join(dir, "service-account.json"), serviceAccount())
	write(t, file, []byte(text))
	c, err := config.Load(config.Options{File: file, Env: env, Types: config.Types{Sinks: []sinks.Type{webhook.Type}}})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.Sinks[name].(sinks.ChannelSettings)
	channel, err := s.Open(sinks.Site{Book: everyone, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(channel.Close)
	return channel
}

var accountKey, _ = rsa.GenerateKey(rand.Reader, 2048)

// serviceAccount is a file as Google gives it.
func serviceAccount() []byte {
	key, err := x509.MarshalPKCS8PrivateKey(accountKey)
	if err != nil {
		panic(err)
	}
	b, err := json.Marshal(map[string]string{
		"type": "service_account", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	})
	if err != nil {
		panic(err)
	}
	return b
}

// serve has the server behave as the service.
func serve(t *testing.T, s service) *testenv.HTTPServer {
	t.Helper()
	server := testenv.NewHTTPServer(t)
	server.Always(func(w http.ResponseWriter, r testenv.HTTPRequest, gone <-chan struct{}) {
		status, text := s(r)
		testenv.ReplyStatus(status, text)(w, r, gone)
	})
	return server
}

// to is a delivery of a notice to the recipients.
func to(recipients ...string) []delivery.Delivery {
	batch := sinktest.PushDeliveries(1, 1)
	batch[0].Recipients = recipients
	batch[0].Notice.Body = "a \"quoted\" <b> & b\nsecond line"
	return batch
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*sinks.RefusedError](err)
	return ok
}

func basic(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}

func wantHeader(t *testing.T, r testenv.HTTPRequest, name, want string) {
	t.Helper()
	if got := r.Header.Get(name); got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

func wantCall(t *testing.T, r testenv.HTTPRequest, uri string) {
	t.Helper()
	if r.Method != http.MethodPost || r.URI != uri {
		t.Errorf("%s %s, want POST %s", r.Method, r.URI, uri)
	}
}

// bodyOf reads the JSON of a call.
func bodyOf[T any](t *testing.T, r testenv.HTTPRequest) T {
	t.Helper()
	var body T
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Errorf("%v of %s", err, r.Body)
	}
	return body
}

// TestTwilio is as https://www.twilio.com/docs/messaging/api/message-resource and https://www.twilio.com/docs/api/errors say.
func TestTwilio(t *testing.T) {
	t.Parallel()
	server := serve(t, func(r testenv.HTTPRequest) (int, string) {
		wantCall(t, r, "/2010-04-01/Accounts/AC123/Messages.json")
		wantHeader(t, r, "Authorization", basic("AC123", "hunter2hunter2"))
		wantHeader(t, r, "Content-Type", "application/x-www-form-urlencoded")
		form, err := neturl.ParseQuery(string(r.Body))
		if err != nil || form.Get("From") != "+15017122661" || form.Get("Body") != "119240: Bin 1 is empty" {
			t.Errorf("%s: %v", r.Body, err)
		}
		switch form.Get("To") {
		case "+8613800000000":
			return 201, `{"sid":"SM1","status":"queued","error_code":null}`
		case "+447700900123":
			return 400, `{"code":21610,"message":"Attempt to send to unsubscribed recipient +447700900123","status":400}`
		default:
			return 429, `{"code":20429,"message":"Too Many Requests","status":429}`
		}
	})
	w := documented(t, "sms", server, "TWILIO_ACCOUNT=AC123", "TWILIO_TOKEN=hunter2hunter2")
	if err := w.Push(t.Context(), to("user:ann")); err != nil {
		t.Error(err)
	}
	if err := w.Push(t.Context(), to("user:ben")); !isRefused(err) || !has(err, `code "21610"`, "unsubscribed recipient ***") {
		t.Errorf("unsubscribed: %v", err)
	}
	if err := w.Push(t.Context(), to("user:bob")); err == nil || isRefused(err) {
		t.Errorf("too many: %v", err)
	}
	if err := w.Push(t.Context(), to("user:none")); !isRefused(err) || !has(err, "user:none: the address book has no phone") {
		t.Errorf("no phone: %v", err)
	}
	if calls := server.Requests(); calls[0].Header.Get("Idempotency-Key") == calls[1].Header.Get("Idempotency-Key") {
		t.Error("calls for two recipients have one key")
	}
}

// TestEsendex is as https://developers.esendex.com/api-reference#messagedispatcher says.
func TestEsendex(t *testing.T) {
	t.Parallel()
	server := serve(t, func(r testenv.HTTPRequest) (int, string) {
		wantCall(t, r, "/v1.0/messagedispatcher")
		wantHeader(t, r, "Authorization", basic("u@example.com", "hunter2"))
		var body struct {
			XMLName xml.Name `xml:"messages"`
			Account string   `xml:"accountreference"`
			To      string   `xml:"message>to"`
			Body    string   `xml:"message>body"`
		}
		if !strings.Contains(string(r.Body), "</accountreference><message><to>") { // in the order of the page
			t.Errorf("%s", r.Body)
		}
		err := xml.Unmarshal(r.Body, &body)
		if err != nil || body.Account != "EX000000" || body.To != "+447700900123" || body.Body != "119240: Bin <1> & is empty" {
			t.Errorf("%v of %s", err, r.Body)
		}
		return 200, `<?xml version="1.0"?><messageheaders batchid="1" xmlns="http://api.esendex.com/ns/"><messageheader id="2"/></messageheaders>`
	})
	w := documented(t, "sms-uk", server, "ESENDEX_USER=u%40example.com", "ESENDEX_PASSWORD=hunter2")
	batch := to("user:ben")
	batch[0].Notice.Title = "Bin <1> & is empty"
	if err := w.Push(t.Context(), batch); err != nil {
		t.Error(err)
	}
}

// TestJPush is as https://docs.jiguang.cn/en/jpush/server/push/rest_api_v3_push says.
func TestJPush(t *testing.T) {
	t.Parallel()
	type push struct {
		Platform     string
		Audience     map[string][]string
		Notification struct {
			Android struct {
				Alert, Title string
				Extras       map[string]string
			}
			IOS struct{ Alert map[string]string }
		}
		Options struct {
			TimeToLive int  `json:"time_to_live"`
			APNS       bool `json:"apns_production"`
		}
	}
	server := serve(t, func(r testenv.HTTPRequest) (int, string) {
		wantCall(t, r, "/v3/push")
		if r.Header.Get("Authorization") != basic("key", "hunter2hunter2") {
			return 401, `{"error":{"code":1004,"message":"basic auth error"}}`
		}
		wantHeader(t, r, "Content-Type", "application/json")
		p := bodyOf[push](t, r)
		if p.Platform != "all" || p.Notification.Android.Title != "Bin 1 is empty" || p.Notification.Android.Alert != "a \"quoted\" <b> & b\nsecond line" ||
			p.Notification.Android.Extras["notice"] != to()[0].Notice.ID || p.Notification.IOS.Alert["title"] != "Bin 1 is empty" || p.Options.TimeToLive != 3600 || !p.Options.APNS {
			t.Errorf("%s", r.Body)
		}
		if slices.Equal(p.Audience["registration_id"], []string{"1a0018970a8f1e2d3c4"}) {
			return 400, `{"error":{"code":1011,"message":"cannot find user by this audience"},"msg_id":2}`
		}
		if !slices.Equal(p.Audience["registration_id"], []string{"170976fa8ab9e6a2b1f", "1a0018970a8f1e2d3c4"}) {
			t.Errorf("audience %v", p.Audience)
		}
		return 200, `{"sendno":"0","msg_id":"1828256757"}`
	})
	w := documented(t, "jpush", server, "JPUSH_APP_KEY=key", "JPUSH_MASTER_SECRET=hunter2hunter2")
	if err := w.Push(t.Context(), to("user:ann", "user:ben", "user:bob")); err != nil {
		t.Error(err)
	}
	if err := w.Push(t.Context(), to("user:ben")); !isRefused(err) || !has(err, `error.code "1011"`) {
		t.Errorf("no such device: %v", err)
	}
	if err := w.Push(t.Context(), to("user:bob", "user:none")); !isRefused(err) || !has(err, "user:bob, user:none: the address book has no jpush") {
		t.Errorf("nobody: %v", err)
	}
	other := documented(t, "jpush", server, "JPUSH_APP_KEY=other", "JPUSH_MASTER_SECRET=hunter2hunter2")
	if err := other.Push(t.Context(), to("user:ann")); err == nil || isRefused(err) || !has(err, "401") {
		t.Errorf("a wrong key: %v", err)
	}
}

// TestFCM is as https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages, its ErrorCode, and
// https://developers.google.com/identity/protocols/oauth2/service-account#httprest say.
func TestFCM(t *testing.T) {
	t.Parallel()
	tokens, isGone := 0, false
	server := serve(t, func(r testenv.HTTPRequest) (int, string) {
		if r.URI == "/token" {
			tokens++
			form, _ := neturl.ParseQuery(string(r.Body))
			claims := jwt.MapClaims{}
			_, err := jwt.ParseWithClaims(form.Get("assertion"), claims, func(*jwt.Token) (any, error) { return &accountKey.PublicKey, nil }, jwt.WithValidMethods([]string{"RS256"}), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
			if err != nil || form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || claims["iss"] != "tallyman@example-wms.iam.gserviceaccount.com" ||
				claims["scope"] != "https://www.googleapis.com/auth/firebase.messaging" {
				t.Errorf("%v of %v in %s", err, claims, r.Body)
			}
			if r.Header.Get("Authorization") != "" {
				t.Errorf("the token's server got %v", r.Header)
			}
			return 200, `{"access_token":"ya29.token` + string(rune('0'+tokens)) + `","expires_in":3599,"token_type":"Bearer"}`
		}
		wantCall(t, r, "/v1/projects/example-wms/messages:send")
		if r.Header.Get("Authorization") != "Bearer ya29.token2" { // the first has been revoked
			return 401, `{"error":{"code":401,"message":"Request had invalid authentication credentials: ` + r.Header.Get("Authorization") + `","status":"UNAUTHENTICATED"}}`
		}
		m := bodyOf[struct {
			Message struct {
				Token              string
				Notification, Data map[string]string
			}
		}](t, r).Message
		if m.Token != everyone["user:ann"].Channels["fcm"] || m.Notification["title"] != "Bin 1 is empty" || m.Data["notice"] != to()[0].Notice.ID || m.Data["priority"] == "" {
			t.Errorf("%s", r.Body)
		}
		if isGone {
			return 404, `{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}`
		}
		return 200, `{"name":"projects/example-wms/messages/0:1"}`
	})
	w := documented(t, "fcm", server)
	for range 3 {
		if err := w.Push(t.Context(), to("user:ann")); err != nil {
			t.Error(err)
		}
	}
	if tokens != 2 {
		t.Errorf("%d tokens were fetched, want 2", tokens)
	}
	isGone = true
	if err := w.Push(t.Context(), to("user:ann")); !isRefused(err) || !has(err, "UNREGISTERED") {
		t.Errorf("an app that is gone: %v", err)
	}
}

// TestWeCom is as https://developer.work.weixin.qq.com/document/path/90236, …/91039 and …/90313 say.
func TestWeCom(t *testing.T) {
	t.Parallel()
	tokens, code := 0, "0"
	server := serve(t, func(r testenv.HTTPRequest) (int, string) {
		asked, _ := neturl.Parse(r.URI)
		if asked.Path == "/cgi-bin/gettoken" {
			if r.Method != http.MethodGet || len(r.Body) > 0 || asked.Query().Get("corpid") != "ww1234567890abcdef" || asked.Query().Get("corpsecret") != "hunter2 & more" {
				t.Errorf("%s %s", r.Method, r.URI)
			}
			if tokens++; tokens == 1 {
				return 200, `{"errcode":40001,"errmsg":"invalid credential hunter2 & more"}`
			}
			return 200, `{"errcode":0,"errmsg":"ok","access_token":"token-` + string(rune('0'+tokens)) + `","expires_in":7200}`
		}
		if r.Method != http.MethodPost || asked.Path != "/cgi-bin/message/send" {
			t.Errorf("%s %s", r.Method, r.URI)
		}
		if asked.Query().Get("access_token") == "token-2" {
			return 200, `{"errcode":42001,"errmsg":"access_token expired: token-2"}`
		}
		m := bodyOf[struct {
			ToUser, MsgType string
			AgentID         int
			Text            map[string]string
		}](t, r)
		if m.ToUser != "LiAn|BenW" || m.MsgType != "text" || m.AgentID != 1000002 || m.Text["content"] != "119240: Bin 1 is empty\na \"quoted\" <b> & b\nsecond line" {
			t.Errorf("%s", r.Body)
		}
		return 200, `{"errcode":` + code + `,"errmsg":"said of LiAn with ` + asked.Query().Get("access_token") + `"}`
	})
	w := documented(t, "wecom", server, "WECOM_SECRET=hunter2 & more")
	all := to("user:ann", "user:ben", "user:bob")
	if err := w.Push(t.Context(), all); err == nil || isRefused(err) || !has(err, "no token: ", `errcode "40001"`, "credential ***") {
		t.Errorf("a wrong secret: %v", err)
	}
	for range 2 {
		if err := w.Push(t.Context(), all); err != nil {
			t.Error(err)
		}
	}
	if tokens != 3 {
		t.Errorf("%d calls for a token, want 3", tokens)
	}
	code = "81013"
	if err := w.Push(t.Context(), all); !isRefused(err) || !has(err, "said of *** with ***") {
		t.Errorf("nobody may see it: %v", err)
	}
	code = "45009"
	if err := w.Push(t.Context(), all); err == nil || isRefused(err) {
		t.Errorf("too many: %v", err)
	}
}
