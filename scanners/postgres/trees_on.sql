-- Makes the server send the rewritten query tree of every following statement as a LOG message. The last setting
-- switches this on. It stands last, because otherwise the server would also send the trees of the other settings. The
-- settings end with the transaction.
-- No arguments, no result.
SET LOCAL check_function_bodies = on;
SET LOCAL debug_print_parse = off;
SET LOCAL debug_print_plan = off;
SET LOCAL debug_pretty_print = off;
SET LOCAL client_min_messages = log;
SET LOCAL debug_print_rewritten = on;
