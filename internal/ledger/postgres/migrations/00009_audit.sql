-- Who changed what, when, from what to what.

-- +goose Up

-- at is in µs. before and after are JSON, null = nothing.
CREATE TABLE audit (
    seq    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     bigint NOT NULL,
    actor  text   NOT NULL,
    via    text   NOT NULL,
    action text   NOT NULL,
    object text COLLATE "C" NOT NULL,
    before text,
    after  text,
    reason text   NOT NULL
);
CREATE INDEX audit_object ON audit (object, seq);

-- What is recorded stays as it is. Whoever must remove a record has to drop the trigger first, which takes the owner of the table.
-- +goose StatementBegin
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'audit records are never changed or removed'; END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
