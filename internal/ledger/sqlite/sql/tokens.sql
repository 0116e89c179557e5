-- API tokens.

-- name: add-token
-- Arguments: ?1 … ?10 in the order of the columns. A unique violation means that the id exists.
INSERT INTO tokens (id, hash, name, subject, access, subscribers, warehouses, created, created_by, expires)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: tokens
-- Result: all tokens, the latest first.
SELECT id, hash, name, subject, access, subscribers, warehouses, created, created_by, expires, used, revoked, revoked_by
FROM tokens ORDER BY created DESC, id;

-- name: token
-- Arguments: ?1 id.
-- Result: the token, if there is one.
SELECT id, hash, name, subject, access, subscribers, warehouses, created, created_by, expires, used, revoked, revoked_by
FROM tokens WHERE id = ?1;

-- name: revoke-token
-- Arguments: ?1 id, ?2 who, ?3 when.
-- Result: the number of rows, 0 = the token was revoked before, or does not exist.
UPDATE tokens SET revoked_by = ?2, revoked = ?3 WHERE id = ?1 AND revoked = 0;

-- name: use-tokens
-- Arguments: ?1 ids, ?2 when each was used (JSON).
UPDATE tokens SET used = u.used
FROM (SELECT i.value AS id, t.value AS used FROM json_each(?1) i JOIN json_each(?2) t ON t.key = i.key) u
WHERE tokens.id = u.id AND tokens.used < u.used;

-- name: forget-tokens
-- Arguments: ?1 before.
-- Result: the number of rows.
DELETE FROM tokens WHERE revoked > 0 AND revoked < ?1 OR expires > 0 AND expires < ?1;
