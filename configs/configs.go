package configs

import _ "embed"

// Types is the type catalogue, types.yaml.
//
//go:embed types.yaml
var Types []byte
