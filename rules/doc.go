// Package rules reads what implementation teams write: rule files. docs/reference/rule-file.md is the language.
//
//	Load      files → Set: decoded strictly, merged (defaults < rule < scope), validated; every problem with its place
//	Check     the Set against what a site has configured: sources, sinks, types
//	Compile   one Rule against the columns that its probe returns → Program
//	Program   what the engine asks: Match, Key, Group, Priority and Draft of a row, DraftGroup, and MatchResult, PriorityResult,
//	          DraftResult of a result as a whole
//
// A bad file, or a bad rule, is reported and left out; the others run.
//
// The folders below hold the languages inside a rule: probe (SQL), condition (expr), message (templates), schedule
// (cron), row (values), catalog (types); strictyaml decodes, problem tells.
package rules
