-- Has the server send the rewritten query tree of every statement from now on as a LOG message. The last of the settings is the one that does it,
-- or the others' own trees would come too. They end with the transaction.
-- No arguments, no result.
SET LOCAL check_function_bodies = on;
SET LOCAL debug_print_parse = off;
SET LOCAL debug_print_plan = off;
SET LOCAL debug_pretty_print = off;
SET LOCAL client_min_messages = log;
SET LOCAL debug_print_rewritten = on;
