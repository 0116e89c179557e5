package scaffold

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // The driver of the sample warehouse.

	"tallyman/configs"
)

//go:embed files
var siteFiles embed.FS

// The names of files of a site.
const (
	ConfigFile = "tallyman.yaml"
	SampleFile = "wms.sqlite"
)

// The languages of a site, and the CI services for which a site gets a file.
const (
	English = "en"
	Chinese = "zh"
	GitHub  = "github"
	GitLab  = "gitlab"
)

// Site describes a new site. An address with a password goes into a file of its own that only its owner may read.
type Site struct {
	Ledger, Redis  string // Addresses, or references to them.
	Driver, Source string
	Warehouse      string // The warehouse of the first subscription; "*" means all.
	Type           string // The type of the first subscription. Empty means there is none.
	Language       string
	CI             string
}

// File is a file to write. Its path is relative to the folder of the site.
type File struct {
	Path   string
	Text   []byte
	Secret bool // Only the owner may read it.
}

// Config returns the configuration, and the files with the secrets that the configuration refers to.
func (s *Site) Config() (config File, secrets []File, err error) {
	reference := func(name, address string) string {
		if !hasPassword(address) {
			return strconv.Quote(address)
		}
		path := "secrets/" + name
		secrets = append(secrets, File{Path: path, Text: []byte(address + "\n"), Secret: true})
		return strconv.Quote("file:" + path)
	}
	text, err := fill(siteFiles, "files/tallyman.yaml.tmpl", map[string]string{
		"Redis": reference("redis-url", s.Redis), "Ledger": reference("ledger-url", s.Ledger), "Driver": s.Driver, "Source": reference("wms-url", s.Source),
		"Type": s.Type, "Warehouse": strconv.Quote(s.Warehouse),
	})
	return File{Path: ConfigFile, Text: []byte(text)}, secrets, err
}

// Files returns the files of the site that depend neither on addresses nor on the first rule.
func (s *Site) Files() ([]File, error) {
	ignored, err := siteFiles.ReadFile("files/gitignore")
	if err != nil {
		return nil, err
	}
	files := []File{{Path: "types.yaml", Text: types(s.Language)}, {Path: ".gitignore", Text: ignored}}
	path := map[string]string{GitHub: ".github/workflows/rules.yaml", GitLab: ".gitlab-ci.yml"}[s.CI]
	if path == "" {
		return nil, fmt.Errorf("--ci takes github or gitlab, not %q", s.CI)
	}
	ci, err := siteFiles.ReadFile("files/" + s.CI + ".yaml")
	return append(files, File{Path: path, Text: ci}), err
}

// typeNames matches the names of a type in the catalogue.
var typeNames = regexp.MustCompile(`(?m)^( *name:) (.+)\n( *names:) \{zh: (.+)\}$`)

// types returns the type catalogue. In Chinese, the names of the types are Chinese with an English translation.
func types(language string) []byte {
	if language != Chinese {
		return configs.Types
	}
	return typeNames.ReplaceAll(configs.Types, []byte("$1 $4\n$3 {en: $2}"))
}

// hasPassword tells whether the address shows a password. A reference shows none.
func hasPassword(address string) bool {
	if strings.HasPrefix(address, "file:") || strings.Contains(address, "${") {
		return false
	}
	_, rest, _ := strings.Cut(address, "://")
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 && !strings.Contains(rest[end:], "@") {
		host = rest[:end]
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 && strings.Contains(host[:at], ":") {
		return true
	}
	_, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return true // The query cannot be parsed, so it may show a password.
	}
	for name := range values {
		if strings.Contains(strings.ToLower(name), "password") {
			return true
		}
	}
	return false
}

// DriverOf returns the driver of an address by its scheme, or "" for a reference or an unknown scheme.
func DriverOf(address string) string {
	scheme, _, _ := strings.Cut(address, ":")
	switch scheme {
	case "postgres", "postgresql":
		return "postgres"
	case "mysql", "sqlserver", "oracle", "sqlite":
		return scheme
	}
	return ""
}

// MakeSample makes the database of a small warehouse in the folder. The file must not exist.
func MakeSample(ctx context.Context, dir string) error {
	path := filepath.Join(dir, SampleFile)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a sample is no secret
	if err != nil {
		return err
	}
	script, err := siteFiles.ReadFile("files/sample.sql")
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()) // The path may have any character.
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, string(script))
	return errors.Join(err, db.Close())
}
