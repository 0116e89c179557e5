package app

import (
	"os"
	"path/filepath"

	"tallyman/rules"
)

// NewFile is a file of a new rule.
type NewFile struct {
	Path string
	Text []byte
}

// schemaFile is what the JSON Schema of rule files is called.
const schemaFile = "rule.schema.json"

// DefaultFile is where the rule goes if nothing else is said: a file of its own in the first of the site's rule folders.
func (m *RuleMaker) DefaultFile(r *NewRule) string {
	folder := m.cfg.Rules.Paths[0]
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		folder = filepath.Dir(folder)
	}
	return filepath.Join(folder, r.ID+".yaml")
}

// Files are the rule's file at the path, beside it a test where one is asked for, and the JSON Schema where the site does not have it yet:
// beside the configuration.
func (m *RuleMaker) Files(r *NewRule, path string, test bool) ([]NewFile, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	schema, found := findSchema(folder)
	if !found {
		schema = filepath.Join(filepath.Dir(m.cfg.File), schemaFile)
	}
	text, err := r.Text(relative(folder, schema))
	if err != nil {
		return nil, err
	}
	files := []NewFile{{path, text}}
	if test {
		name := filepath.Base(path)
		testFile := name[:len(name)-len(filepath.Ext(name))] + "_test.yaml"
		text, err := r.TestText(name, testFile, relative(folder, m.cfg.Types.Path))
		if err != nil {
			return nil, err
		}
		files = append(files, NewFile{filepath.Join(folder, testFile), text})
	}
	if _, err := os.Stat(schema); err != nil {
		text, err := rules.Schema()
		if err != nil {
			return nil, err
		}
		files = append(files, NewFile{schema, text})
	}
	return files, nil
}

// findSchema looks for the schema in the folder and in those above it.
func findSchema(folder string) (string, bool) {
	for {
		path := filepath.Join(folder, schemaFile)
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", false
		}
		folder = above
	}
}

// relative leads from the folder to the file, with slashes.
func relative(folder, file string) string {
	path, err := filepath.Rel(folder, file)
	if err != nil { // on another volume
		return file
	}
	return filepath.ToSlash(path)
}
