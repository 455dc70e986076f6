; Definitions, by the grammar of tree-sitter-languages 1.10.

(create_table_statement [(identifier) @name (dotted_name (identifier) @container (identifier) @name .)]
  . (table_parameters)? @body) @definition.struct
(create_view_statement [(identifier) @name (dotted_name (identifier) @container (identifier) @name .)]
  . (view_body)? @body) @definition.struct
(create_materialized_view_statement [(identifier) @name (dotted_name (identifier) @container (identifier) @name .)])
  @definition.struct
(create_function_statement [(identifier) @name (dotted_name (identifier) @container (identifier) @name .)]
  (function_body)? @body) @definition.function
(create_type_statement type_name: [(identifier) @name (dotted_name (identifier) @container (identifier) @name .)])
  @definition.type
(create_domain_statement [(identifier) @name (dotted_name (identifier) @container (identifier) @name .)]) @definition.type
(create_index_statement name: (identifier) @name) @definition.variable
(create_trigger_statement name: (identifier) @name) @definition.function
(create_sequence (identifier) @name) @definition.variable
(create_schema_statement (identifier) @name) @definition.module

; References

(from_clause [(identifier) @reference.use (dotted_name (identifier) @receiver (identifier) @reference.use .)])
(join_clause (alias . [(identifier) @reference.use (dotted_name (identifier) @receiver (identifier) @reference.use .)]))
(join_clause . [(identifier) @reference.use (dotted_name (identifier) @receiver (identifier) @reference.use .)])
(from_clause (alias . [(identifier) @reference.use (dotted_name (identifier) @receiver (identifier) @reference.use .)]))
(insert_statement . [(identifier) @reference.use (dotted_name (identifier) @receiver (identifier) @reference.use .)])
(update_statement . [(identifier) @reference.use (dotted_name (identifier) @receiver (identifier) @reference.use .)])
(references_constraint . [(identifier) @reference.type (dotted_name (identifier) @receiver (identifier) @reference.type .)])
(create_index_statement table_name: [
  (identifier) @reference.use
  (dotted_name (identifier) @receiver (identifier) @reference.use .)])
(alter_table . [(identifier) @reference.use (dotted_name (identifier) @receiver (identifier) @reference.use .)])
(function_call function: [(identifier) @reference.call (dotted_name (identifier) @receiver (identifier) @reference.call .)])
(create_trigger_statement on_table: (identifier) @reference.use)
(trigger_body function: (identifier) @reference.call)
