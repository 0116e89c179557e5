// Package settings has the kinds of values that a configuration is made of: secrets, files, rates, headers, addresses.
//
// A package that can be configured declares a struct whose fields have the tags of strictyaml, and a Check for what concerns several of them; package
// config decodes the struct without knowing the package. The kinds here promise the same strictness and the same words wherever they are used. A Secret is
// never printed, and a problem with one never shows it.
//
// The package reads no file itself: a Site, which package config implements, finds what a text stands for.
package settings
