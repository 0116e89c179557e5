package oracle

import (
	"strings"
	"testing"
	"time"

	ora "github.com/sijms/go-ora/v2"

	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// TestURL parses addresses. No error shows the password.
func TestURL(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"oracle://wms:s3cret@db/FREEPDB1":                                  "",
		"oracle://wms:s3cret@db:1522/wms.example.com?tls=true":             "",
		"oracle://wms:s3cret@db/FREEPDB1?timezone=Asia/Shanghai":           "a setting of the source",
		"oracle://wms:s3cret@db":                                           "no oracle address with a database",
		"oracle://wms:s3cr#et@db/FREEPDB1":                                 "cannot be read",
		"oracle://wms:s3cret@db/FREEPDB1?tls=s3cret":                       "tls of the source must be true or false",
		"oracle://wms:s3cret@db/FREEPDB1?timezone=Mars":                    "a setting of the source",
		"oracle://wms:s3cret@db/FREEPDB1?TRACE%20FILE=/tmp/everything.log": `unknown option "TRACE FILE"`,
		"oracle://wms:s3cret@db/FREEPDB1?connect_timeout=soon":             "must be a whole number of seconds, at least 1",
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
			if strings.Contains(err.Error(), "s3cr") {
				t.Errorf("%s: the error shows it: %v", url, err)
			}
		}
	}
}

// TestLogin tests the login data that the driver gets.
func TestLogin(t *testing.T) {
	t.Parallel()
	address, err := sqldb.ParseURL("oracle://wms:p%40s%2Fs@db/FREEPDB1?tls=true&wallet=/etc/wallet", "oracle", "1521", "tls", "tls_verify", "wallet")
	if err != nil {
		t.Fatal(err)
	}
	login, err := loginOf(&address)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(login, "oracle://wms:p%40s%2Fs@db:1521/FREEPDB1?") || !strings.Contains(login, "SSL=true&SSL+VERIFY=true&WALLET=%2Fetc%2Fwallet") {
		t.Error(login)
	}
	address.Options = map[string]string{}
	if login, err = loginOf(&address); err != nil {
		t.Fatal(err)
	}
	config, err := ora.ParseConfig(login)
	if err != nil {
		t.Fatal(err)
	}
	if config.UserID != "wms" || config.Password != "p@s/s" || config.ServiceName != "FREEPDB1" || config.SSL || !config.SSLVerify || config.PrefetchRows != rowsAtOnce {
		t.Errorf("%+v", config)
	}
}

// TestSilentServer accepts connections and never answers.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	s, err := Open(Config{URL: "oracle://wms:s3cret@" + silent(t) + "/FREEPDB1?connect_timeout=1"})
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
