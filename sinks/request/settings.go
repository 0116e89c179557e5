package request

import "net/http"

// The codes of problems in the settings.
const (
	CodeTemplate = "bad_template" // the template cannot be parsed, or fails on a sample
	CodeBody     = "bad_request_body"
	CodePath     = "bad_request_path"
)

// Template is the form of a call, as a site writes it. The host comes from a URL outside of the template, so that no
// template can change it.
type Template struct {
	Method  string `yaml:"method" enum:"POST,PUT,PATCH,GET,DELETE" doc:"of the call"`
	Path    Path   `yaml:"path" doc:"comes behind that of the url; each part between slashes is a template"`
	Query   Tree   `yaml:"query" doc:"comes behind that of the url; values are templates"`
	Headers Tree   `yaml:"headers" doc:"values are templates; secrets that are none stand under the headers of the sink"`
	JSON    Tree   `yaml:"json" doc:"the body as JSON; its texts are templates"`
	Form    Tree   `yaml:"form" doc:"the body as a form; values are templates"`
	XML     Tree   `yaml:"xml" doc:"the body as XML: a map of one element; its texts are templates"`
}

// SetDefaults implements strictyaml.Defaulter.
func (t *Template) SetDefaults() { t.Method = http.MethodPost }
