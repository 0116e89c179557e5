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
	Method  string `yaml:"method" enum:"POST,PUT,PATCH,GET,DELETE" doc:"the HTTP method of the call"`
	Path    Path   `yaml:"path" doc:"added to the path of the url; each part between slashes may be a template"`
	Query   Tree   `yaml:"query" doc:"added to the query of the url; values may be templates"`
	Headers Tree   `yaml:"headers" doc:"headers whose values may be templates; put secrets into the headers of the sink"`
	JSON    Tree   `yaml:"json" doc:"the body as JSON; its texts may be templates"`
	Form    Tree   `yaml:"form" doc:"the body as a form; values may be templates"`
	XML     Tree   `yaml:"xml" doc:"the body as XML: a map with one element; its texts may be templates"`
}

// SetDefaults implements strictyaml.Defaulter.
func (t *Template) SetDefaults() { t.Method = http.MethodPost }
