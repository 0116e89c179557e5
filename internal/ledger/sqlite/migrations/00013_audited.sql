-- Which versions of the rule files came into force one after the other.

-- +goose Up

-- place counts from 1; version is a hash of the rules in force. A node that takes a version in force looks here whether it is recorded
-- already.
CREATE TABLE rule_versions (
    place   INTEGER PRIMARY KEY,
    version TEXT NOT NULL
) STRICT;
INSERT INTO rule_versions
SELECT 1, coalesce(json_extract(after, '$.version'), '') FROM audit WHERE object = 'rules' AND action = 'rules.reload' AND after IS NOT NULL ORDER BY seq DESC LIMIT 1;
INSERT INTO ledger_numbers SELECT 'rules', count(*) FROM rule_versions;
