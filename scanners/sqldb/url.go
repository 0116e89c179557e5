package sqldb

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/scanners"
)

// URL is the address of a source: scheme://user:password@host:port/database?option=value.
type URL struct {
	Host, Port, Database, User, Password string
	Options                              map[string]string
	ConnectTimeout                       time.Duration // of the option connect_timeout; 0 if it is not given
}

// ParseURL reads an address with this scheme. connect_timeout is an option of every driver. No error shows the address,
// because a part that cannot be read may be the password.
func ParseURL(text, scheme, port string, options ...string) (URL, error) {
	form := "write " + scheme + "://user:password@host:" + port + "/database; in a password, write # as %23, / as %2F, @ as %40, : as %3A"
	fault := func(err error) (URL, error) {
		return URL{}, &scanners.Error{Code: scanners.CodeUnreachable, Hint: form, Err: err}
	}
	u, err := url.Parse(text)
	if err != nil {
		return fault(errors.New("the URL of the source cannot be read"))
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return fault(errors.New("the options in the URL of the source cannot be read"))
	}
	parsed := URL{
		Host: u.Hostname(), Port: cmp.Or(u.Port(), port), Database: strings.Trim(u.Path, "/"), User: u.User.Username(),
		Options: map[string]string{},
	}
	parsed.Password, _ = u.User.Password()
	if u.Scheme != scheme || parsed.Host == "" || parsed.Database == "" || strings.Contains(parsed.Database, "/") {
		return fault(fmt.Errorf("the URL of the source is no %s address with a database", scheme))
	}
	known := append([]string{"connect_timeout"}, options...)
	for option, values := range query {
		if !slices.Contains(known, option) {
			return fault(fmt.Errorf("the URL of the source has the unknown option %q; the options are %s", option, strings.Join(known, ", ")))
		}
		parsed.Options[option] = values[len(values)-1]
	}
	if err := parsed.read(); err != nil {
		return fault(err)
	}
	return parsed, nil
}

func (u *URL) read() error {
	if text, given := u.Options["connect_timeout"]; given {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 1 {
			return errors.New("the option connect_timeout of the source must be a whole number of seconds, at least 1")
		}
		u.ConnectTimeout = time.Duration(seconds) * time.Second
	}
	return nil
}

// Bool reads an option that is true or false.
func (u *URL) Bool(option string, otherwise bool) (bool, error) {
	text, given := u.Options[option]
	if !given {
		return otherwise, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, &scanners.Error{Code: scanners.CodeUnreachable, Err: fmt.Errorf("the option %s of the source must be true or false", option)}
	}
	return b, nil
}
