package mail

import (
	_ "embed" // the built-in templates
	"fmt"

	"tallyman/sinks/render"
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

// templates are the three parts of a mail.
type templates struct{ subject, text, html part }

// part is the template of the operator, with the built-in one behind it.
type part struct {
	own     *render.Template // nil = the built-in one
	builtIn *render.Template
}

// loadTemplates reads the files that are named.
func loadTemplates(subject, text, html string) (*templates, error) {
	t := &templates{}
	for _, p := range []struct {
		part                *part
		kind                render.Kind
		what, file, builtIn string
	}{
		{&t.subject, render.Text, "subject", subject, subjectTemplate},
		{&t.text, render.Text, "text", text, textTemplate},
		{&t.html, render.HTML, "html", html, htmlTemplate},
	} {
		var err error
		if p.part.builtIn, err = render.Parse(p.kind, p.what, p.builtIn); err != nil {
			return nil, fmt.Errorf("mail: the built-in %s template: %w", p.what, err)
		}
		if p.file == "" {
			continue
		}
		if p.part.own, err = render.Load(p.kind, p.file); err != nil {
			return nil, fmt.Errorf("mail: the %s template: %w", p.what, err)
		}
	}
	return t, nil
}
