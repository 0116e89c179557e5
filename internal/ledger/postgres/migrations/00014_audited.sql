-- Which versions of the rule files came into force one after the other.

-- +goose Up

-- place counts from 1; version is a hash of the rules in force. A node that takes a version in force looks here whether another has recorded
-- it already.
CREATE TABLE rule_versions (
    place   bigint PRIMARY KEY,
    version text COLLATE "C" NOT NULL
);
INSERT INTO rule_versions
SELECT 1, coalesce(after::json ->> 'version', '') FROM audit WHERE object = 'rules' AND action = 'rules.reload' AND after IS NOT NULL ORDER BY seq DESC LIMIT 1;
INSERT INTO ledger_numbers SELECT 'rules', count(*) FROM rule_versions;
