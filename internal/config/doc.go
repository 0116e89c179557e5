// Package config reads configs/tallyman.yaml. Three layers make a Config, the later the stronger: the file, the
// environment (TALLYMAN_REDIS__URL sets redis.url), flags. Load reports every problem at once, each with its place.
//
// The file is parsed by strictyaml; koanf merges the layers; strictyaml decodes what is merged into structs, whose tags
// name the fields and their bounds. A sink's section is decoded into the settings of its type, and a source's is held
// against its driver: the tables of types and drivers come with the Options, and this package knows none of the parts
// that it configures.
//
// After the layers are merged, ${NAME} in a text of the file becomes the value of that environment variable, and a
// secret that begins with file: becomes the content of that file. Paths are relative to the configuration file.
package config
