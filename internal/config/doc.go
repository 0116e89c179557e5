// Package config reads configs/tallyman.yaml. Three layers make a Config, the later the stronger: the file, the
// environment (TALLYMAN_REDIS__URL sets redis.url), flags. Load reports every problem at once, each with its place.
//
// After the layers are merged, ${NAME} in a text of the file becomes the value of that environment variable, and a secret
// that begins with file: becomes the content of that file. Paths are relative to the configuration file.
package config
