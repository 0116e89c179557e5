// Package trial shows an author what a rule would do before the rule goes live.
//
// A Trial takes a rule through its runs on a source, from what a ledger knows or from nothing. Scan, judgement and
// composition are those of package judge, by which a node runs the rule live: there is no second way to judge. What a
// firing would commit is kept in memory; nothing is written and nothing is delivered.
//
// Folder preview reports one run, folder ruletest runs a rule through the steps of a test file, folder rulediff runs
// two versions of a rule.
package trial
