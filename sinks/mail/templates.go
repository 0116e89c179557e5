package mail

import (
	"bytes"
	_ "embed" // the built-in templates
	"fmt"
	htmltemplate "html/template"
	"io"
	"os"
	texttemplate "text/template"
	"time"
)

// maxTemplate is the largest template, and maxRendered the largest text made of one, in bytes.
const (
	maxTemplate = 256 << 10
	maxRendered = 1 << 20
)

// The built-in templates.
var (
	//go:embed templates/subject.txt
	subjectTemplate string
	//go:embed templates/text.txt
	textTemplate string
	//go:embed templates/mail.html
	htmlTemplate string
)

// template is what text/template and html/template have in common.
type template interface {
	Execute(w io.Writer, data any) error
}

// templates are the three parts of a mail, each with the built-in one behind it.
type templates struct{ subject, text, html part }

type part struct {
	own     template // nil = the built-in one
	builtIn template
}

// inZone is the function `in`: a time in a zone of the tz database.
func inZone(zone string, t time.Time) (time.Time, error) {
	l, err := time.LoadLocation(zone)
	if err != nil {
		return t, err
	}
	return t.In(l), nil
}

// loadTemplates reads the files that are named and tries each on a sample, so that a mistake shows at the start.
func loadTemplates(subject, text, html string) (*templates, error) {
	t := &templates{}
	for _, p := range []struct {
		part    *part
		what    string
		file    string
		builtIn string
		parse   func(name, text string) (template, error)
	}{
		{&t.subject, "subject", subject, subjectTemplate, parseText},
		{&t.text, "text", text, textTemplate, parseText},
		{&t.html, "html", html, htmlTemplate, parseHTML},
	} {
		builtIn, err := load(p.what, p.builtIn, p.parse)
		if err != nil {
			return nil, err
		}
		p.part.builtIn = builtIn
		if p.file == "" {
			continue
		}
		own, err := read(p.file)
		if err != nil {
			return nil, fmt.Errorf("mail: the %s template: %w", p.what, err)
		}
		if p.part.own, err = load(p.file, own, p.parse); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func read(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxTemplate {
		return "", fmt.Errorf("%s has more than %d bytes", file, maxTemplate)
	}
	return string(b), nil
}

func load(name, text string, parse func(name, text string) (template, error)) (template, error) {
	t, err := parse(name, text)
	if err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	if _, err := render(t, sample()); err != nil {
		return nil, fmt.Errorf("mail: tried on a sample: %w", err)
	}
	return t, nil
}

func parseText(name, text string) (template, error) {
	return texttemplate.New(name).Option("missingkey=error").Funcs(texttemplate.FuncMap{"in": inZone}).Parse(text)
}

func parseHTML(name, text string) (template, error) {
	return htmltemplate.New(name).Option("missingkey=error").Funcs(htmltemplate.FuncMap{"in": inZone}).Parse(text)
}

// render executes the template; what grows beyond all measure ends as an error.
func render(t template, v *View) (string, error) {
	var b bytes.Buffer
	if err := t.Execute(&limited{w: &b, left: maxRendered}, v); err != nil {
		return "", err
	}
	return b.String(), nil
}

// limited is a writer that takes no more than it has room for.
type limited struct {
	w    io.Writer
	left int
}

// Write fails when there is no room.
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("more than %d bytes", maxRendered)
	}
	return l.w.Write(p)
}
