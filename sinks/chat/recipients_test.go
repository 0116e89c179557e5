package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks"
)

// people is an address book in memory.
type people map[string]delivery.Subscriber

func (p people) Subscribers(_ context.Context, ids []string) (map[string]delivery.Subscriber, error) {
	found := map[string]delivery.Subscriber{}
	for _, id := range ids {
		if s, ok := p[id]; ok {
			s.ID = id
			found[id] = s
		}
	}
	return found, nil
}

var book4 = people{
	"user:ann": {Language: "zh", Phone: "+86 138 0000 0000", Channels: map[string]string{"chat": "ann.lee", "telegram": "4711"}},
	"user:ben": {Phone: "110", Channels: map[string]string{"chat": "U024BE7LH"}},
	"user:bad": {Channels: map[string]string{"chat": "> <!channel", "telegram": "1,2"}},
	"user:non": {},
}

func forRecipients(ids ...string) []delivery.Delivery {
	d := someDelivery()
	d.Recipients = ids
	return []delivery.Delivery{d}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	const text = `"Bin A-01 is at -3\nS1 & <S2> went to -3.\nReplenish \"it\" @all."`
	for name, c := range map[string]struct {
		url, mention, ok string
		want             []string
	}{
		"slack":           {"slack://hook:T00AAAAAA-B00BBBBBB-cccccccccccccccccccccccc@webhook", "chat", "ok", []string{`{"text":"<@ann.lee> <@U024BE7LH>\n*Bin A-01 is at -3*\n`}},
		"discord":         {"discord://TOKEN@11111", "chat", "", []string{`"content":"<@ann.lee> <@U024BE7LH>"`, `"allowed_mentions":{"parse":[],"users":["ann.lee","U024BE7LH"]}`}},
		"telegram":        {"telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=-100123", "chat", `{"ok":true}`, []string{`"text":"@ann.lee @U024BE7LH\n<b>Bin`}},
		"mattermost":      {"mattermost://chat.example.com/TOKEN/town-square", "chat", "", []string{`"text":"@ann.lee @U024BE7LH\n**Bin`}},
		"dingtalk":        {"generic://oapi.dingtalk.com/robot/send?access_token=TOKEN&template=dingtalk", "chat", `{"errcode":0}`, []string{`"at":{"atMobiles":[],"atUserIds":["ann.lee","U024BE7LH"]}`, `"content":"@ann.lee @U024BE7LH\n`}},
		"dingtalk phones": {"generic://oapi.dingtalk.com/robot/send?access_token=TOKEN&template=dingtalk", "phone", `{"errcode":0}`, []string{`"at":{"atMobiles":["+8613800000000","110"],"atUserIds":[]}`}},
		"wecom":           {"wecom://693axxx6?mentioned_list=li", "chat", `{"errcode":0}`, []string{`"mentioned_list":["li","ann.lee","U024BE7LH"]`, `"content":` + text}},
		"wecom phones":    {"wecom://693axxx6", "phone", `{"errcode":0}`, []string{`"mentioned_mobile_list":["+8613800000000","110"]`}},
		"lark":            {"lark://open.larksuite.com/TOKEN", "chat", `{"code":0}`, []string{`"content":[[{"tag":"at","user_id":"ann.lee"},{"tag":"at","user_id":"U024BE7LH"}],[{"tag":"text"`}},
	} {
		server := tlsServer(t)
		server.Always(testenv.ReplyStatus(http.StatusOK, c.ok))
		var log bytes.Buffer
		channel := reach(t, server, Options{URL: c.url, Title: true, Mention: c.mention, Book: book4, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err := channel.Push(t.Context(), forRecipients("user:ann", "user:bad", "user:ben", "user:non")); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body := string(server.Requests()[0].Body)
		for _, want := range c.want {
			if !strings.Contains(strings.ReplaceAll(body, `\u003c`, "<"), want) {
				t.Errorf("%s: %s\nlacks %s", name, body, want)
			}
		}
		if strings.Contains(body, "!channel") || !strings.Contains(log.String(), `subscribers="[user:bad user:non]"`) {
			t.Errorf("%s: %s %s", name, body, log.String())
		}
		if err := channel.Push(t.Context(), forRecipients()); err != nil || strings.Contains(string(server.Requests()[1].Body), "ann.lee") {
			t.Errorf("%s: for nobody: %v %s", name, err, server.Requests()[1].Body)
		}
	}
	for url, mention := range map[string]string{"ntfy://ntfy.sh/x": "chat", "slack://hook:T00AAAAAA-B00BBBBBB-cccccccccccccccccccccccc@webhook": "phone", "generic://h/?template=json": "chat"} {
		if _, err := New(Options{URL: url, Mention: mention, Book: book4}); err == nil || !strings.Contains(err.Error(), "cannot mention people by "+mention) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestMentionsLeaveRoomForTheText(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 14, 100} { // of an id
		many := people{}
		var ids []string
		for i := range 200 {
			id := fmt.Sprintf("user:%03d", i)
			ids = append(ids, id)
			many[id] = delivery.Subscriber{Channels: map[string]string{"chat": strings.Repeat("a", length)}}
		}
		server := tlsServer(t)
		server.Always(testenv.ReplyStatus(http.StatusOK, `{"ok":true}`))
		var log bytes.Buffer
		c := reach(t, server, Options{
			URL: "telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=-100123", Title: true, Mention: "chat", Book: many,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err := c.Push(t.Context(), forRecipients(ids...)); err != nil {
			t.Fatal(err)
		}
		first := min(100, 1400/length)
		body := string(server.Requests()[0].Body)
		if got := strings.Count(body, "@a"); got != first+1 || !strings.Contains(body, "Replenish") { // the text has "@all"
			t.Errorf("ids of %d characters: %d mentions, want %d: %s", length, got-1, first, body)
		}
		if want := fmt.Sprintf("subscribers=\"[user:%03d user:", first); !strings.Contains(log.String(), want) || !strings.Contains(log.String(), fmt.Sprint("count=", 200-first)) {
			t.Errorf("ids of %d characters: the log lacks %s: %s", length, want, log.String())
		}
	}
}

func TestAddressesOfTheBook(t *testing.T) {
	t.Parallel()
	server := tlsServer(t)
	server.Always(testenv.ReplyStatus(http.StatusOK, `{"ok":true}`))
	c := reach(t, server, Options{
		URL: "telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats={address}", Title: true, Each: true, Address: "telegram", Book: book4,
	})
	if err := c.Push(t.Context(), forRecipients("user:ann")); err != nil {
		t.Error(err)
	}
	if body := string(server.Requests()[0].Body); !strings.Contains(body, `"chat_id":"4711"`) || !strings.Contains(body, "货位 A-01 库存为 -3") {
		t.Error(body)
	}
	for recipient, want := range map[string]string{"user:ben": "user:ben: the address book has no telegram", "user:404": "no telegram", "user:bad": "the telegram of user:bad makes no address of a chat"} {
		err := c.Push(t.Context(), forRecipients(recipient))
		if _, refused := errors.AsType[*sinks.RefusedError](err); !refused || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "1,2") {
			t.Errorf("%s: %v", recipient, err)
		}
	}
	server.Always(testenv.ReplyStatus(http.StatusForbidden, `{"ok":false,"description":"bot was blocked by 4711"}`))
	if err := c.Push(t.Context(), forRecipients("user:ann")); err == nil || !strings.Contains(err.Error(), "blocked by ***") {
		t.Errorf("%v", err)
	}
}

func TestMessagesToEachHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	c := local(t, Options{URL: "generic://" + host(server) + "/{address}/in?disabletls=yes&template=json", Each: true, Address: "alias", Book: people{
		"user:a": {Alias: "a/../b?c=d"}, "user:b": {Alias: "b"},
	}})
	for _, id := range []string{"user:a", "user:b"} {
		if err := c.Push(t.Context(), forRecipients(id)); err != nil {
			t.Error(err)
		}
	}
	calls := server.Requests()
	if calls[0].URI != "/a%2F..%2Fb%3Fc=d/in" && calls[0].URI != "/a%2F..%2Fb%3Fc%3Dd/in" || calls[1].URI != "/b/in" || calls[0].Header.Get("Idempotency-Key") == calls[1].Header.Get("Idempotency-Key") {
		t.Errorf("%s %s %v", calls[0].URI, calls[1].URI, calls[0].Header)
	}
}

func TestTheBookChoosesNoServer(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"generic://{address}/x", "ntfy://{address}/topic", "mattermost://{address}/TOKEN", "lark://{address}/x"} {
		if _, err := New(Options{URL: url, Each: true, Address: "chat", Book: book4}); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}
