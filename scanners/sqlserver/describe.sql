-- The columns of a statement's result. The statement is compiled, not run.
-- @p1 the statement, @p2 the types of its parameters as sp_executesql takes them. One row for each column (is_hidden,
-- column_ordinal, name, is_nullable, system_type_id, system_type_name …).
EXEC sys.sp_describe_first_result_set @tsql = @p1, @params = @p2, @browse_information_mode = 0
