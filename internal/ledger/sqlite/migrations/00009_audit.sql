-- Who changed what, when, from what to what.

-- +goose Up

-- at is in µs. before and after are JSON, null = nothing.
CREATE TABLE audit (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    via    TEXT    NOT NULL,
    action TEXT    NOT NULL,
    object TEXT    NOT NULL,
    before TEXT,
    after  TEXT,
    reason TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_object ON audit (object, seq);

-- What is recorded stays as it is. Whoever must remove a record has to drop the trigger first.
-- +goose StatementBegin
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'audit records are never changed or removed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'audit records are never changed or removed'); END;
-- +goose StatementEnd
-- A replacing insert removes without asking the trigger above.
-- +goose StatementBegin
CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'audit records are never changed or removed'); END;
-- +goose StatementEnd
