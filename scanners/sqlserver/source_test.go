package sqlserver

import (
	"strings"
	"testing"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// TestURL parses addresses. No error shows the password.
func TestURL(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"sqlserver://sa:s3cret@db/wms":                                      "",
		"sqlserver://sa:s3cret@db:1444/wms?encrypt=strict&instance=SQL2":    "",
		"sqlserver://sa:s3cret@db/wms?timezone=Asia/Shanghai&encrypt=false": "a setting of the source",
		"sqlserver://sa:s3cret@db/wms?trust_server_certificate=true":        "",
		"sqlserver://sa:s3cret@db":                                          "no sqlserver address with a database",
		"sqlserver://sa:s3cret@db/wms/more":                                 "no sqlserver address with a database",
		"postgres://sa:s3cret@db/wms":                                       "no sqlserver address with a database",
		"sqlserver://sa:s3cr#et@db/wms":                                     "cannot be read",
		"sqlserver://sa:s3cret@db/wms?encrypt=maybe":                        "encrypt of the source must be true, false, strict or disable",
		"sqlserver://sa:s3cret@db/wms?trust_server_certificate=s3cret":      "must be true or false",
		"sqlserver://sa:s3cret@db/wms?timezone=Mars":                        "a setting of the source",
		"sqlserver://sa:s3cret@db/wms?connect_timeout=0":                    "must be a whole number of seconds, at least 1",
		"sqlserver://sa:s3cret@db/wms?ApplicationIntent=ReadWrite":          `unknown option "ApplicationIntent"`,
		"sqlserver://sa:s3cret@db/wms?a=%zz":                                "options in the URL of the source cannot be read",
	} {
		s, err := Open(Config{URL: url})
		switch {
		case err == nil:
			_ = s.Close()
			if says != "" {
				t.Errorf("%s was taken", url)
			}
		case says == "":
			t.Errorf("%s: %v", url, err)
		default:
			wantCode(t, err, scanners.CodeUnreachable, says)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cr") || strings.Contains(err.Error(), "sa:")) {
			t.Errorf("%s: the error shows it: %v", url, err)
		}
	}
}

// TestLogin tests the login data that the driver gets.
func TestLogin(t *testing.T) {
	t.Parallel()
	address, err := sqldb.ParseURL("sqlserver://sa:p%40ss@db/wms?instance=SQL2&encrypt=disable", "sqlserver", "1433", "instance", "encrypt")
	if err != nil {
		t.Fatal(err)
	}
	login, err := loginOf(&address)
	if err != nil {
		t.Fatal(err)
	}
	if !login.ReadOnlyIntent || login.Database != "wms" || login.User != "sa" || login.Password != "p@ss" || login.Host != "db" || login.Instance != "SQL2" ||
		login.Encryption != msdsn.EncryptionDisabled || login.AppName != "tallyman" || !login.DisableRetry {
		t.Errorf("%+v", login)
	}
}

// TestSilentServer has a server that accepts connections and never answers, and one that does not exist.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	s, err := Open(Config{URL: "sqlserver://sa:s3cret@" + silent(t) + "/wms?connect_timeout=1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	start := time.Now()
	err = s.Ping(t.Context())
	wantCode(t, err, scanners.CodeUnreachable, "")
	if took := time.Since(start); took > 10*time.Second || strings.Contains(err.Error(), "s3cret") || !scanners.IsTransient(err) {
		t.Errorf("after %s: %v", took, err)
	}
}
