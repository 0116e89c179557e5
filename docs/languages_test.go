package docs

import (
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/internal/testenv"
)

// languages are the languages of blocks, each with its check here. Another test checks those without one.
var languages = map[string]func(*testing.T, fenced) error{
	"sql": runSQL, "html": checkHTML, "xml": checkXML, "conf": runRedis,
	"js": syntax("block.js", "node", "--check"), "python": syntax("block.py", "python3", "-m", "py_compile"),
	"sh":    nil,                               // TestCommandsOfPagesRun
	"yaml":  nil,                               // TestYAML
	"json":  nil,                               // TestJSON
	"expr":  nil,                               // TestRecipes of reference
	"nginx": nil, "haproxy": nil, "caddy": nil, // TestSite of internal/e2e
	"ini":  nil,          // of PgBouncer
	"text": nil, "": nil, // what a command prints, a template, a tree
}

// TestBlocks checks each block of the pages by its language.
func TestBlocks(t *testing.T) {
	t.Parallel()
	for _, page := range guides(t) {
		for _, b := range blocksOf(t, page) {
			check, known := languages[b.language]
			reason, not := strings.CutPrefix(b.mark, "not run: ")
			switch {
			case not && check != nil:
				t.Logf("%s:%d is not run: %s", page, b.line, reason)
			case !known:
				t.Errorf("%s:%d: no test checks blocks of the language %q", page, b.line, b.language)
			case check != nil:
				if err := check(t, b); err != nil {
					t.Errorf("%s:%d: %v", page, b.line, err)
				}
			}
		}
	}
}

// runSQL runs the statements on a PostgreSQL that has the database wms.
func runSQL(t *testing.T, b fenced) error {
	t.Helper()
	const tables = "CREATE TABLE bin_stock (id int); CREATE TABLE orders (id int); CREATE TABLE waves (id int);"
	server := testenv.PostgresServer(t)
	psql := func(database, text string) error {
		cmd := exec.CommandContext(t.Context(), "psql", "-qXv", "ON_ERROR_STOP=1", "-d", server.URL(database))
		cmd.Stdin = strings.NewReader(text)
		return outcome(cmd)
	}
	return errors.Join(psql("postgres", "CREATE DATABASE wms"), psql("wms", tables), psql("wms", b.text))
}

// runRedis starts a server with the settings.
func runRedis(t *testing.T, b fenced) error {
	t.Helper()
	var args []string
	for line := range strings.Lines(b.text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		args = append(args, "--"+name, value)
	}
	testenv.Redis(t, args...)
	return nil
}

// syntax is a check by a program, which gets the block as a file of that name.
func syntax(name string, command ...string) func(*testing.T, fenced) error {
	return func(t *testing.T, b fenced) error {
		t.Helper()
		file := filepath.Join(t.TempDir(), name)
		writeFile(t, file, b.text, 0o600)
		return outcome(exec.CommandContext(t.Context(), command[0], append(slices.Clone(command[1:]), file)...))
	}
}

func outcome(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.New(err.Error() + "\n" + string(out))
	}
	return nil
}

// checkHTML compares the elements of Tallyman and their attributes with those of the widget.
func checkHTML(t *testing.T, b fenced) error {
	t.Helper()
	widget := codetest.ReadFile(t, "../internal/console/web/src/widget/element.ts")
	known := []string{"token-provider"}
	for _, m := range regexp.MustCompile(`"([a-z-]+)"`).FindAllStringSubmatch(between(t, widget, "const reflected = [", "]"), -1) {
		known = append(known, m[1])
	}
	d := xml.NewDecoder(strings.NewReader(b.text))
	d.Strict, d.Entity = false, xml.HTMLEntity
	d.AutoClose = xml.HTMLAutoClose
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		element, is := token.(xml.StartElement)
		if !is || !strings.Contains(element.Name.Local, "-") {
			continue
		}
		if element.Name.Local != "tallyman-inbox" {
			return errors.New("the widget has no element " + element.Name.Local)
		}
		for _, a := range element.Attr {
			if !slices.Contains(known, a.Name.Local) {
				return errors.New("the widget has no attribute " + a.Name.Local)
			}
		}
	}
}

func checkXML(_ *testing.T, b fenced) error {
	return xml.Unmarshal([]byte(b.text), new(struct{}))
}
