package scaffold

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestSQLOfMariaDB runs the script on MariaDB. internal/app has a test with the scripts of PostgreSQL.
func TestSQLOfMariaDB(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("mysql", testenv.MariaDB(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	exec := func(statements string) error {
		_, err := db.ExecContext(t.Context(), statements)
		return err
	}
	script, err := SQL(Grants{Dialect: "mariadb", Tables: []string{"wms.bin_stock"}})
	if err != nil {
		t.Fatal(err)
	}
	err = exec("CREATE DATABASE wms; CREATE TABLE wms.bin_stock (id int); " + script)
	unlocked := exec("ALTER USER tallyman_probe IDENTIFIED BY 'x' ACCOUNT UNLOCK")
	var grants string
	found := db.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(PRIVILEGE_TYPE ORDER BY 1) FROM information_schema.TABLE_PRIVILEGES WHERE GRANTEE LIKE '%tallyman_probe%'").Scan(&grants)
	if err := errors.Join(err, unlocked, found); err != nil || grants != "SELECT" {
		t.Errorf("%v, grants %s", err, grants)
	}
	if err := exec("DROP USER tallyman_probe; DROP DATABASE wms"); err != nil {
		t.Error(err)
	}
}

func TestPasswordsStandInFilesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"sqlite:tallyman.db": false, "embedded": false, "postgres://app@db/tallyman": false, "postgres://app:s3cret@db1:5432,db2:5432/tallyman": true,
		"redis://:s3cret@redis:6379/0": true, "redis://redis:6379/0?sentinel_password=s3cret": true, "postgres://app:${PASSWORD}@db/tallyman": false,
		"file:/run/secrets/url": false, "mysql://app:a/b@db/wms": true, "postgres://db/tallyman?user=a&password=s3cret": true, "redis://redis:6379/0?x=%zz": true,
	} {
		s := Site{Ledger: address, Redis: "embedded", Driver: "sqlite", Source: "sqlite:wms.sqlite"}
		config, secrets, err := s.Config()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(secrets) == 1 && secrets[0].Secret && string(secrets[0].Text) == address+"\n"; got != want {
			t.Errorf("%s: %v", address, secrets)
		}
		if bytes.Contains(config.Text, []byte("s3cret")) {
			t.Errorf("the configuration shows the password:\n%s", config.Text)
		}
	}
}

func TestSampleLiesInAFolderWithAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b%20#?c", "%41", "货&mode=ro;x"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := MakeSample(t.Context(), dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if file, err := os.Stat(filepath.Join(dir, SampleFile)); err != nil || file.Size() == 0 {
			t.Errorf("%s: %v, %v", name, file, err)
		}
	}
}

func TestTypesHaveChineseNames(t *testing.T) {
	t.Parallel()
	if text := string(types(Chinese)); !strings.Contains(text, "name: 补货通知\n    names: {en: Replenishment notice}") || strings.Contains(text, "{zh: 补货通知}") {
		t.Error(text)
	}
}

func TestSQLRefusesWhatIsNoName(t *testing.T) {
	t.Parallel()
	for want, g := range map[string]Grants{
		"--sql takes":                             {Dialect: "db2"},
		"--for ledger takes postgres":             {Dialect: "oracle", For: ForLedger},
		"--for takes":                             {Dialect: "postgres", For: "all"},
		"add --for source":                        {Dialect: "postgres", Tables: []string{"t"}},
		`"t; DROP TABLE x" is no name`:            {Dialect: "mysql", Tables: []string{"t; DROP TABLE x"}},
		`"a-b" is no name that SQL takes without`: {Dialect: "sqlserver", Database: "a-b"},
	} {
		if _, err := SQL(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", g, err)
		}
	}
	for _, dialect := range Dialects() {
		for _, tables := range [][]string{nil, {"wms.bin_stock"}} {
			text, err := SQL(Grants{Dialect: dialect, For: ForSource, Tables: tables})
			if err != nil || !strings.Contains(text, "tallyman_probe") || strings.Contains(text, "<no value>") || len(tables) > 0 && !strings.Contains(text, " ON wms.bin_stock TO tallyman_probe;") {
				t.Errorf("%s %v: %v\n%s", dialect, tables, err, text)
			}
		}
	}
}
