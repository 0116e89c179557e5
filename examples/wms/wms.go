// Package wms has the files of the sample warehouse: its schema and the rule pack that watches it. The demo uses them.
package wms

import "embed"

// Rules is the rule pack, below rules/.
//
//go:embed rules/*.yaml
var Rules embed.FS

// Schema creates the sample WMS database (SQLite).
//
//go:embed schema.sql
var Schema string
