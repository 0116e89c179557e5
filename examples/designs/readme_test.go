package designs

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"tallyman/internal/cli"
	"tallyman/internal/testenv"
)

const readme = "examples/designs/README.md"

// chapter is a part of README.md whose calls a test makes: what the page shows is what was tried.
type chapter struct {
	t     *testing.T
	node  *node
	calls []*call
	vars  map[string]string // of the calls, such as $ID
}

// call is a line behind "$ " of the page, and the answer below it.
type call struct {
	line, answer string
	made         bool
}

// answerTime bounds how long a call is repeated until its answer is that of the page.
const answerTime = 20 * time.Second

// play tests one chapter: play makes every call of it, and its settings are those that the node runs with.
func (n *node) play(t *testing.T, title string, play func(*chapter)) {
	t.Helper()
	t.Run(title, func(t *testing.T) {
		c := &chapter{t: t, node: n, vars: map[string]string{"TALLYMAN_SERVER": n.url}}
		_, text, found := strings.Cut(read(t, readme), "\n## "+title+"\n")
		if !found {
			t.Fatalf("%s has no chapter %q", readme, title)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		c.read(text)
		play(c)
		for _, call := range c.calls {
			if !call.made {
				t.Errorf("nobody makes this call of the page: %s", call.line)
			}
		}
	})
}

// read takes the calls out of the chapter, and holds its YAML against the configuration.
func (c *chapter) read(text string) {
	c.t.Helper()
	for _, m := range regexp.MustCompile("(?s)```(\\w*)\n(.*?)```").FindAllStringSubmatch(text, -1) {
		language, block := m[1], m[2]
		if language == "yaml" && !strings.Contains(read(c.t, configuration), block) {
			c.t.Errorf("%s does not have this:\n%s", configuration, block)
		}
		if language != "" {
			continue
		}
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, answer, _ := strings.Cut(strings.ReplaceAll(part, "\\\n", ""), "\n")
			c.calls = append(c.calls, &call{line: line, answer: answer})
		}
	}
}

// find returns the next call of the page that begins so, or the last one again.
func (c *chapter) find(beginning string) *call {
	c.t.Helper()
	var last *call
	for _, call := range c.calls {
		if strings.HasPrefix(call.line, beginning) {
			last = call
			if !call.made {
				break
			}
		}
	}
	if last == nil {
		c.t.Fatalf("the page has no call that begins with %s", beginning)
	}
	last.made = true
	return last
}

// run makes the next call of the page that begins so. The answer must be that of the page.
func (c *chapter) run(beginning string) string {
	c.t.Helper()
	call := c.find(beginning)
	got := c.do(call)
	if !call.answers(got) {
		c.t.Fatalf("$ %s\n%s\nwas answered:\n%s", call.line, call.answer, got)
	}
	return got
}

// await repeats a call until the answer is that of the page. To repeat it does no harm.
func (c *chapter) await(beginning string) {
	c.t.Helper()
	call, got := c.find(beginning), ""
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("$ %s\n%s\nwas answered last:\n%s", call.line, call.answer, got)
		}
	})
	testenv.Eventually(c.t, func() bool {
		got = c.do(call)
		return call.answers(got)
	}, answerTime)
}

var (
	moment = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z|\b\d{13}\b`)
	blanks = regexp.MustCompile(`\s+`)
	breaks = regexp.MustCompile(`\n\s*`)
)

// answers tells whether an answer is that of the page: times may be others, … stands for any text, and a page may break lines of XML and JSON.
func (c *call) answers(got string) bool {
	shown := c.answer
	if strings.HasPrefix(shown, "<") || strings.HasPrefix(shown, "{") {
		shown = breaks.ReplaceAllString(shown, "")
	}
	flat := func(text string) string {
		return strings.TrimSpace(blanks.ReplaceAllString(moment.ReplaceAllString(text, "(time)"), " "))
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(flat(shown)), "…", ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(flat(got))
}

// do makes a call as a shell would, and returns what it prints.
func (c *chapter) do(call *call) string {
	c.t.Helper()
	words := c.words(call.line)
	switch words[0] {
	case "tallyman":
		var out bytes.Buffer
		cli.Run(c.t.Context(), cli.Process{Args: words[1:], Env: []string{"TALLYMAN_SERVER=" + c.node.url}, Out: &out, Err: &out}, cli.Default())
		return out.String()
	case "curl":
		return c.curl(words[1:])
	}
	c.t.Fatalf("the page calls %s", words[0])
	return ""
}

// curl makes a request as curl does, of whose flags it knows two.
func (c *chapter) curl(args []string) string {
	c.t.Helper()
	var method, url, body string
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-X":
			i++
			method = args[i]
		case "--json":
			i++
			method, body = http.MethodPost, args[i]
		default:
			url = args[i]
		}
	}
	req, err := http.NewRequestWithContext(c.t.Context(), cmp.Or(method, http.MethodGet), url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// words splits a line as a shell does: with quotes of both kinds and variables, and without anything else.
func (c *chapter) words(line string) []string {
	c.t.Helper()
	variable := func(name string) string {
		value, found := c.vars[name]
		if !found {
			c.t.Fatalf("nobody has set $%s of %s", name, line)
		}
		return value
	}
	var words []string
	for _, m := range regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`).FindAllString(line, -1) {
		var word strings.Builder
		for _, part := range regexp.MustCompile(`[^'"]+|'[^']*'|"[^"]*"`).FindAllString(m, -1) {
			if quoted, isPlain := strings.CutPrefix(part, "'"); isPlain {
				word.WriteString(strings.TrimSuffix(quoted, "'"))
			} else {
				word.WriteString(os.Expand(strings.Trim(part, `"`), variable))
			}
		}
		words = append(words, word.String())
	}
	return words
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
