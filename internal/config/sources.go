package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"tallyman/internal/settings"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
	"tallyman/scanners"
)

// Source is a database that probes read.
type Source struct {
	Driver           Driver        `yaml:"driver" doc:"Needed. The kind of database."`
	URL              Secret        `yaml:"url" doc:"Needed. The address, in the form of the driver. Use a database user that may only SELECT."`
	Path             string        `yaml:"-"` // the file, absolute
	MaxConnections   int           `yaml:"max_connections" min:"1" doc:"How many probes run on the source at a time, on each node."`
	StatementTimeout time.Duration `yaml:"statement_timeout" min:"0.001s" doc:"How long a probe without a timeout of its own may run."`
	Timezone         Timezone      `yaml:"timezone" doc:"The time zone of times without a zone, which most tables have: timestamp, DATETIME."`
	MaxCellBytes     int           `yaml:"max_cell_bytes" min:"1024" doc:"The largest value of a row, in bytes. A larger value fails the run with probe_too_large, before the node takes memory for it. At most max_row_bytes."`
	MaxRowBytes      int           `yaml:"max_row_bytes" min:"1" max:"1073741824" doc:"The same for all values of a row together, in bytes."`
	Functions        []string      `yaml:"functions" doc:"Functions that probes may call though the functions may do more than read. Each by its exact name; schema.name where the function is not the database's own. No wildcards."`
}

// SetDefaults sets the defaults of a source.
func (s *Source) SetDefaults() {
	*s = Source{MaxConnections: 4, StatementTimeout: 30 * time.Second, MaxCellBytes: scanners.DefaultMaxCell, MaxRowBytes: scanners.DefaultMaxRow}
}

// Timezone is the time zone of a source's times without a zone.
type Timezone struct{ *time.Location }

const zoneForm = `an IANA name such as Asia/Shanghai, UTC, or an offset such as "+08:00"`

// Takes says what a time zone may be.
func (t Timezone) Takes() string { return zoneForm }

// DecodeYAML reads an IANA name or an offset. Local is refused: it differs from node to node.
func (t *Timezone) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	zone, ok := d.Text(name, n)
	if !ok {
		return
	}
	location, err := scanners.ParseZone(zone)
	if err != nil {
		d.Fail(n, CodeTimezone, fmt.Sprintf("%s: %v", name, err), zoneForm)
		return
	}
	t.Location = location
}

// functionPattern matches the name of one function, with or without its schema. A part with other characters stands in
// double quotes. There are no wildcards, so that every allowed function is named exactly.
var functionPattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_$]*|"[^"]+")(\.([A-Za-z_][A-Za-z0-9_$]*|"[^"]+")){0,2}$`)

// check checks the source against its driver.
func (s *Source) check(at settings.Section, l *loader) {
	driver, found := l.driver(s.Driver)
	functions := at.In("functions")
	if len(s.Functions) > 0 && found && !driver.LooksUpFunctions {
		functions.Fail(CodeNotAvailable, fmt.Sprintf("%s: the functions that a probe calls on %s are not looked up, so none has to be allowed", functions, s.Driver), "remove it")
	}
	for i, name := range s.Functions {
		if !functionPattern.MatchString(name) {
			at.Item("functions", i).Fail(CodeName, fmt.Sprintf("%s: %q is no name of a function", functions, name),
				"name, or schema.name, as the refusal of the probe prints the name; no wildcards")
		}
	}
	switch {
	case s.Driver == "":
		at.Missing("driver")
		return
	case !found:
		at.In("driver").Fail(strictyaml.CodeEnum, fmt.Sprintf("%s.driver cannot be %q", at, s.Driver), l.driverHint(string(s.Driver)))
		return
	}
	if s.MaxCellBytes > s.MaxRowBytes {
		at.In("max_cell_bytes").Fail(strictyaml.CodeOutOfRange,
			fmt.Sprintf("%s.max_cell_bytes is %d, more than the %d of a whole row", at, s.MaxCellBytes, s.MaxRowBytes), "raise max_row_bytes too")
	}
	s.checkURL(at, l, driver)
}

func (s *Source) checkURL(at settings.Section, l *loader, driver *scanners.Driver) {
	where := at.In("url")
	switch address := s.URL.Reveal(); {
	case l.IsOpen(where):
	case address == "":
		at.Missing("url")
	case !driver.IsAddress(address):
		where.Fail(CodeURL, where.String()+" "+driver.Wrong, addressHint(address, driver))
	case (&scanners.Config{URL: address}).CheckURL() != nil:
		where.Fail(CodeURL, where.String()+" has the option timezone, which is a setting of the source", `beside the url, as timezone: Asia/Shanghai, or an offset as "+08:00"`)
	case driver.IsFile:
		s.Path = l.Resolve(strings.TrimPrefix(address, driver.Name+":"))
	}
}

// addressHint returns a hint about common mistakes in an address. It shows nothing of a password.
func addressHint(address string, driver *scanners.Driver) string {
	_, rest, _ := strings.Cut(address, "://")
	login := rest[:max(strings.LastIndexByte(rest, '@'), 0)]
	switch {
	case driver.IsFile && strings.HasPrefix(address, driver.Name+":") && strings.ContainsAny(address, "?#"):
		return driver.Address + ", without options: the file is always opened to be read only"
	case strings.ContainsAny(login, "#/?@[]% "):
		return driver.Address + "; in a password, write # as %23, @ as %40, / as %2F, ? as %3F, % as %25"
	}
	return driver.Address
}

// Address returns the URL that the driver opens.
func (s *Source) Address() string {
	if s.Path != "" {
		return string(s.Driver) + ":" + s.Path
	}
	return s.URL.Reveal()
}

func (l *loader) driver(name Driver) (*scanners.Driver, bool) {
	for i := range l.types.Drivers {
		if d := &l.types.Drivers[i]; d.Name == string(name) {
			return d, true
		}
	}
	return nil, false
}

// driverHint suggests a driver with a similar name, or lists the drivers.
func (l *loader) driverHint(name string) string {
	var names, list []string
	for _, d := range l.types.Drivers {
		if d.Covers != "" && strings.EqualFold(name, d.Covers) {
			return fmt.Sprintf("%s is the driver of %s too", d.Name, d.Covers)
		}
		names = append(names, d.Name)
		if d.Covers != "" {
			d.Name += " (for " + d.Covers + " too)"
		}
		list = append(list, d.Name)
	}
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return cmp.Or(problem.DidYouMean(name, names), strings.Join(list[:last], ", ")+" or "+list[last])
}
