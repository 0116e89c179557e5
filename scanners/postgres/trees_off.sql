-- Undoes trees_on.sql.
-- No arguments, no result.
SET LOCAL debug_print_rewritten = off;
SET LOCAL client_min_messages = DEFAULT;
