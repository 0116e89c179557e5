-- Ends what trees_on.sql has begun.
-- No arguments, no result.
SET LOCAL debug_print_rewritten = off;
SET LOCAL client_min_messages = DEFAULT;
