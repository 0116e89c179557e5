// Package config reads configs/tallyman.yaml. A Config has three layers: the file, the environment (TALLYMAN_REDIS__URL
// sets redis.url), and flags. A later layer overrides an earlier one. Load reports every problem at once, each with its
// place.
//
// Package strictyaml parses the file, and koanf merges the layers. Then strictyaml decodes the merged values into
// structs, whose tags name the fields and their bounds. The section of a sink is decoded into the settings of its type;
// the section of a source is checked against its driver. The types and drivers come with the Options: this package
// knows none of the parts that it configures.
//
// After the merge, ${NAME} in a text of the file becomes the value of that environment variable, and a secret that
// begins with file: becomes the content of that file. Paths are relative to the configuration file.
package config
