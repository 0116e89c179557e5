package mail_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/sinks/mail"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	big := file("big", strings.Repeat("x", 300<<10))
	for want, change := range map[string]func(*mail.Options){
		"is no name of a server":    func(o *mail.Options) { o.Host = "unix://x" },
		"there is no port -1":       func(o *mail.Options) { o.Port = -1 },
		"tls is starttls":           func(o *mail.Options) { o.Security = "ssl" },
		"on a loopback address":     func(o *mail.Options) { o.Host, o.Security = "mail.example.com", mail.None },
		"without a username":        func(o *mail.Options) { o.Username = "" },
		"no address book":           func(o *mail.Options) { o.Book = nil },
		"is no address":             func(o *mail.Options) { o.From.Address = "tally" },
		"no such file":              func(o *mail.Options) { o.CA = filepath.Join(dir, "none") },
		"no certificate":            func(o *mail.Options) { o.CA = big },
		"the subject template":      func(o *mail.Options) { o.Subject = filepath.Join(dir, "none") },
		"unclosed action":           func(o *mail.Options) { o.Text = file("unclosed", "{{ .Title") },
		"tried on a sample":         func(o *mail.Options) { o.HTML = file("unknown", "{{ .Titel }}") },
		"more than 262144 bytes":    func(o *mail.Options) { o.Text = big },
		"more than 1048576 bytes":   func(o *mail.Options) { o.Text = file("endless", `{{ range 100000 }}0123456789abcdef{{ end }}`) },
		`function "exec" not defin`: func(o *mail.Options) { o.Text = file("exec", `{{ exec "rm" }}`) },
	} {
		o := mail.Options{Host: "127.0.0.1", Username: "u", Password: password, Book: keepers()}
		o.From.Address = "tally@example.com"
		change(&o)
		if _, err := mail.New(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), password) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
