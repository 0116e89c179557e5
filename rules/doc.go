// Package rules reads rule files, which implementation teams write. docs/reference/rule-file.md describes the language
// of these files.
//
//	Load      reads files into a Set. It decodes strictly, merges (defaults < rule < scope) and validates.
//	          It reports every problem with its place.
//	Check     checks the Set against the sources, sinks and types that a site has configured.
//	Compile   compiles one Rule against the columns that its probe returns. The result is a Program.
//	Program   answers the engine's questions. Match, Key, Group, Priority, Draft and DraftGroup are about rows.
//	          MatchResult, PriorityResult and DraftResult are about the result as a whole.
//
// A bad file or a bad rule is reported and left out. The other rules run.
//
// The packages below hold the languages inside a rule: probe (SQL), condition (expr), message (templates), schedule
// (cron), row (values) and catalog (types). Package strictyaml decodes files, and package problem describes problems.
package rules
