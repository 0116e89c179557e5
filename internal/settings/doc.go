// Package settings has the kinds of values in a configuration: secrets, files, rates, headers and addresses.
//
// A package with settings, such as sinks/mail, has a struct with the tags of strictyaml, and may have a method Check
// for rules over several fields. Package config decodes the struct without knowing the package. The kinds here are
// equally strict everywhere, and report problems in the same words. A Secret is never printed, and a problem never
// shows the text of a secret.
//
// The package reads no file itself. A Site resolves texts; package config implements it.
package settings
