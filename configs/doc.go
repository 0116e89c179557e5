// Package configs has the configuration files of the product: an example of tallyman.yaml with rules and their tests,
// and the JSON Schema of rules. Types is the catalogue of types, which the demo uses.
package configs
