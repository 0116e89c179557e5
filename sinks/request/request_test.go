package request_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/settings"
	"tallyman/internal/testenv"
	"tallyman/internal/text/texttest"
	"tallyman/rules/strictyaml"
	"tallyman/sinks/render"
	"tallyman/sinks/request"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// read decodes a template, as a site writes it.
func read(t testing.TB, words string) *request.Template {
	t.Helper()
	f, list := strictyaml.Parse("t.yaml", []byte(words))
	if len(list) > 0 {
		t.Fatal(list)
	}
	tmpl := &request.Template{}
	tmpl.SetDefaults()
	if list := f.Decode(f.Root, tmpl); len(list) > 0 {
		t.Fatal(list)
	}
	return tmpl
}

// about is the view of a notice with such a title.
func about(title string) *request.View {
	v := request.Sample(request.Values{"key": settings.NewSecret("k & <")})
	v.Title, v.Token = title, "t/k"
	v.Addresses = []string{title, "b"}
	return v
}

const hostile = `a"b<c>&d=e/../f?g#h` + "\n\\{{ .Token }}"

func address(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCalls(t *testing.T) {
	t.Parallel()
	inJSON, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		`{json: {b: "{{ .Title }}", a: [1, -2.5, true, null, "x"], c: {d: "{{ json .Addresses }}"}}}`: `POST /base application/json {"b":` + noHTML(inJSON) + `,"a":[1,-2.5,true,null,"x"],"c":{"d":[` + noHTML(inJSON) + `,"b"]}}`,
		`{json: "{{ json .Count }}"}`:                                                       `POST /base application/json 1`,
		`{json: ["{{ .Count }}"], method: PUT}`:                                             `PUT /base application/json ["1"]`,
		`{form: {"a b": "{{ .Title }}", l: "1"}}`:                                           `POST /base application/x-www-form-urlencoded a+b=` + url.QueryEscape(hostile) + `&l=1`,
		`{form: {to: ["{{ .Address }}", 2], k: '{{ .Value "key" }}'}}`:                      `POST /base application/x-www-form-urlencoded to=` + url.QueryEscape(hostile) + `&to=2&k=k+%26+%3C`,
		`{method: GET, path: "/v1/{{ .Title }}/x y", query: {t: "{{ .Token }}"}}`:           `GET /base/v1/` + url.PathEscape(hostile) + `/x%20y?t=t%2Fk `,
		`{method: DELETE, path: "/"}`:                                                       `DELETE /base/ `,
		`{method: GET, path: '/{{ join "/" .Addresses }}', headers: {X-A: "{{ .Title }}"}}`: `GET /base/` + url.PathEscape(hostile+"/b") + ` a"b<c>&d=e/../f?g#h \{{ .Token }}`,
	} {
		c, err := read(t, words).Make(address(t, "https://h/base"), about(hostile))
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		got := c.Method + " " + c.URL.RequestURI() + " " + c.Header.Get("Content-Type") + c.Header.Get("X-A")
		if len(c.Body) > 0 {
			got += " " + string(c.Body)
		}
		if got != want || c.URL.Host != "h" {
			t.Errorf("%s\nmakes %s\nwant  %s", words, got, want)
		}
	}
	c, err := read(t, `{path: /x, query: {b: 2}}`).Make(address(t, "https://h/base/?a=1"), about("t"))
	if err != nil || c.URL.String() != "https://h/base/x?a=1&b=2" {
		t.Errorf("%v, %v", c.URL, err)
	}
}

// noHTML undoes the escapes that json.Marshal adds for HTML.
func noHTML(b []byte) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

func TestXML(t *testing.T) {
	t.Parallel()
	c, err := read(t, `{xml: {b:m: {"@z": "{{ .Title }}", to: "{{ .Addresses | json }}", a: [{n: 1}, "x"], "#text": "{{ .Title }}"}}}`).Make(address(t, "https://h"), about(`<&>"'`))
	const want = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<b:m z="&lt;&amp;&gt;&#34;&#39;"><to>[&#34;&lt;&amp;&gt;\&#34;&#39;&#34;,&#34;b&#34;]</to><a><n>1</n></a><a>x</a>&lt;&amp;&gt;&#34;&#39;</b:m>`
	if err != nil || string(c.Body) != want || c.Header.Get("Content-Type") != "application/xml; charset=utf-8" {
		t.Errorf("%v\n%s\n%s", err, c.Body, want)
	}
}

func TestWhatCannotBeMade(t *testing.T) {
	t.Parallel()
	for words, v := range map[string]*request.View{
		`{path: "/a/{{ .Title }}"}`:         about(".."),
		`{path: "/a/{{ .Title }}/b"}`:       about(""),
		`{json: {a: "{{ .Value \"x\" }}"}}`: about("t"),
	} {
		if c, err := read(t, words).Make(address(t, "https://h"), v); err == nil {
			t.Errorf("%s makes %s %s", words, c.URL, c.Body)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{"errcode":0}`, "errcode", "0"},
		{`{"error":{"code":1011}}`, "error.code", "1011"},
		{`{"a":[{"b":"x"},{"b":true}]}`, "a.1.b", "true"},
		{`{"a":[1]}`, "a.1", ""},
		{`{"a":[1]}`, "a.-1", ""},
		{`{"a":[1]}`, "a.b", ""},
		{`{"a":1}`, "a.b", ""},
		{`{"a":null}`, "a", ""},
		{`{"a":{}}`, "a", ""},
		{`{"n":12345678901234567890}`, "n", "12345678901234567890"},
		{`not JSON`, "a", ""},
		{``, "a", ""},
		{`{"a":1`, "a", ""},
		{` <?xml version="1.0" encoding="GBK"?><r x="1"><m><code> 0 </code></m><m><code>1</code></m></r>`, "r.m.code", "0"},
		{`<r><a><b>1</b></a><b>2</b></r>`, "r.b", "2"},
		{`<r><a>1</b></r>`, "r.b", ""},
		{`<r>x</r>`, "r", "x"},
		{`<r>`, "r", ""},
	} {
		if got := request.Find([]byte(c[0]), c[1]); got != c[2] {
			t.Errorf("%s in %s is %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

func TestMeanings(t *testing.T) {
	t.Parallel()
	a := request.Answer{Success: request.Success{Code: "c", OK: request.Codes{"0", ""}}, Refused: request.Codes{"3"}, Renew: request.Codes{"4"}}
	for text, want := range map[string][2]request.Meaning{ // under a 2xx, and under another
		`{"c":0}`: {request.Taken, request.Unknown}, `{}`: {request.Taken, request.Unknown}, `{"c":1}`: {request.Failed, request.Unknown},
		`{"c":"3"}`: {request.Refused, request.Refused}, `{"c":4}`: {request.Renew, request.Renew},
	} {
		for i, success := range []bool{true, false} {
			if _, got := a.Read([]byte(text), success); got != want[i] {
				t.Errorf("%s, success %v: %v, want %v", text, success, got, want[i])
			}
		}
	}
	if _, got := (&request.Answer{}).Read([]byte(`{"c":3}`), true); got != request.Unknown {
		t.Errorf("without a rule: %v", got)
	}
}

// tokensOf counts fetches. Each fetch returns another token.
type tokensOf struct {
	now   time.Time
	life  time.Duration
	err   error
	asked int
	wait  chan struct{} // closed to let fetches go on
}

func (f *tokensOf) fetch(ctx context.Context) (string, time.Duration, error) {
	select {
	case <-f.wait:
	case <-ctx.Done():
		return "", 0, ctx.Err()
	}
	f.asked++
	return "t" + string(rune('0'+f.asked)), f.life, f.err
}

func newTokens() (*tokensOf, *request.Tokens) {
	f := &tokensOf{now: time.Unix(0, 0), life: time.Hour, wait: make(chan struct{})}
	close(f.wait)
	return f, request.NewTokens(f.fetch, func() time.Time { return f.now })
}

func TestTokensAreKeptAndRenewed(t *testing.T) {
	t.Parallel()
	f, tokens := newTokens()
	get := func(refused, want string) {
		t.Helper()
		if got, err := tokens.Get(t.Context(), refused); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	get("", "t1")
	f.now = f.now.Add(54 * time.Minute) // the next five minutes are left to those who use it
	get("", "t1")
	f.now = f.now.Add(time.Minute)
	get("", "t2")
	get("t1", "t2")
	get("t2", "t3")
	f.err = errors.New("no")
	if _, err := tokens.Get(t.Context(), "t3"); !errors.Is(err, f.err) {
		t.Errorf("%v", err)
	}
	f.err = nil
	get("t3", "t5")
}

func TestOneFetchIsForAllWhoWait(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("no")} {
		f, tokens := newTokens()
		f.wait, f.err = make(chan struct{}), err
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := tokens.Get(ctx, ""); !errors.Is(err, context.Canceled) { // a caller that leaves fails nobody else
			t.Errorf("%v", err)
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, got := tokens.Get(t.Context(), ""); !errors.Is(got, err) {
					t.Errorf("%v", got)
				}
			})
		}
		close(f.wait)
		all.Wait()
		if f.asked < 1 || err == nil && f.asked != 1 {
			t.Errorf("%d fetches", f.asked)
		}
	}
}

func TestTokensInAnswers(t *testing.T) {
	t.Parallel()
	tok := request.Token{Value: "data.token", Expires: "data.expires", Life: time.Hour}
	for answer, want := range map[string]time.Duration{
		`{"data":{"token":"t","expires":7200}}`: 2 * time.Hour, `{"data":{"token":"t","expires":"60"}}`: time.Minute, `{"data":{"token":"t","expires":1e300}}`: 720 * time.Hour,
		`{"data":{"token":"t","expires":0}}`: 0, `{"data":{"token":"t","expires":"NaN"}}`: 0, `{"data":{"token":"t"}}`: 0, `{"data":{"expires":5}}`: 0, `x`: 0,
	} {
		got, life, err := tok.Read([]byte(answer))
		if life != want || (err == nil) != (want > 0) || err == nil && got != "t" {
			t.Errorf("%s: %q %s %v", answer, got, life, err)
		}
	}
	tok.Expires = ""
	if _, life, err := tok.Read([]byte(`{"data":{"token":"t"}}`)); life != time.Hour || err != nil {
		t.Errorf("%s %v", life, err)
	}
}

func TestSignerNeedsAKeyOfItsKind(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	for _, words := range []string{"", "{}", `{"private_key":"x"}`, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if err := os.WriteFile(file, []byte(words), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, algorithm := range []string{"RS256", "ES256", "EdDSA"} {
			if _, err := request.NewSigner(&request.Assertion{Key: settings.File(file), Algorithm: algorithm}, nil, nil); err == nil || !strings.Contains(err.Error(), "no private key for "+algorithm) {
				t.Errorf("%q: %v", words, err)
			}
		}
	}
}

// FuzzMake tests that a call is well formed, whatever a notice or the address book has. Its JSON, XML, form and address
// are parsed again, and must have the same values.
func FuzzMake(f *testing.F) {
	inJSON, inXML, inForm := read(f, `{json: {a: "{{ .Title }}"}, path: "/p/{{ .Title }}x"}`), read(f, `{xml: {m: {"@a": "{{ .Title }}", t: "{{ .Title }}"}}}`), read(f, `{form: {a: "{{ .Title }}"}, query: {q: "{{ .Title }}"}}`)
	f.Add("Bin A-01")
	f.Add(hostile)
	f.Add(texttest.All())
	f.Add("../..")
	f.Fuzz(func(t *testing.T, title string) {
		v := about("")
		v.View = render.NewView(noticeOf(title), "", delivery.Subscriber{})
		u := address(t, "https://h/base?k=1")
		c, err := inJSON.Make(u, v)
		if err != nil {
			t.Fatal(err)
		}
		var body map[string]string
		if err := json.Unmarshal(c.Body, &body); err != nil || len(body) != 1 || body["a"] != v.Title {
			t.Fatalf("%v: %s", err, c.Body)
		}
		parsed := address(t, c.URL.String())
		if parsed.Host != "h" || parsed.Path != "/base/p/"+v.Title+"x" || parsed.RawQuery != "k=1" {
			t.Fatalf("%s", c.URL)
		}
		if c, err = inForm.Make(u, v); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(c.Body), strings.TrimPrefix(c.URL.RawQuery, "k=1&")} {
			values, err := url.ParseQuery(text)
			if err != nil || len(values) != 1 || values.Get("a")+values.Get("q") != v.Title {
				t.Fatalf("%v: %s", err, text)
			}
		}
		if c, err = inXML.Make(u, v); err != nil {
			t.Fatal(err)
		}
		var m struct {
			A string `xml:"a,attr"`
			T string `xml:"t"`
		}
		if err := xml.Unmarshal(c.Body, &m); err != nil || m.A != v.Title || m.T != v.Title {
			t.Fatalf("%v: %s", err, c.Body)
		}
	})
}

// FuzzFind tests that no answer of a server does harm, and that each value that is found in JSON or XML is in the
// answer.
func FuzzFind(f *testing.F) {
	f.Add(`{"a":{"b":[0,"x"]}}`, "a.b.1")
	f.Add(`<a><b>1</b></a>`, "a.b")
	f.Add(`<a`, "..")
	f.Add(strings.Repeat("[", 100_000), "0.0")
	f.Fuzz(func(t *testing.T, answer, path string) {
		got := request.Find([]byte(answer), path)
		if got == "" || strings.HasPrefix(strings.TrimSpace(answer), "<") {
			return
		}
		d := json.NewDecoder(strings.NewReader(answer))
		d.UseNumber()
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) || err != nil {
				t.Fatalf("%q is not in %s", got, answer)
			}
			switch v := token.(type) {
			case string:
				if v == got {
					return
				}
			case json.Number:
				if v.String() == got {
					return
				}
			case bool:
				return
			}
		}
	})
}

func noticeOf(title string) *notice.Notice {
	return &notice.Notice{ID: "n_1", Title: title}
}
