// Package configs is the shipped configuration as files. The demo uses its type catalogue.
package configs

import _ "embed"

// Types is the type catalogue, types.yaml.
//
//go:embed types.yaml
var Types []byte
