; Definitions

(create_table (object_reference schema: (identifier)? @container name: (identifier) @name) . (column_definitions)? @body)
  @definition.struct
(create_view (object_reference schema: (identifier)? @container name: (identifier) @name) (create_query) @body) @definition.struct
(create_materialized_view (object_reference schema: (identifier)? @container name: (identifier) @name)) @definition.struct
(create_function (object_reference schema: (identifier)? @container name: (identifier) @name) (function_body) @body)
  @definition.function
(create_type (object_reference schema: (identifier)? @container name: (identifier) @name)) @definition.type
(create_index column: (identifier) @name) @definition.variable
(create_sequence (object_reference name: (identifier) @name)) @definition.variable
(create_trigger . (keyword_create) (object_reference name: (identifier) @name)) @definition.function
(create_schema (identifier) @name) @definition.module

; References

(relation (object_reference schema: (identifier)? @receiver name: (identifier) @reference.use))
(insert (object_reference schema: (identifier)? @receiver name: (identifier) @reference.use))
(column_definition (object_reference schema: (identifier)? @receiver name: (identifier) @reference.type))
(constraint (object_reference schema: (identifier)? @receiver name: (identifier) @reference.type))
(create_index (object_reference schema: (identifier)? @receiver name: (identifier) @reference.use))
(alter_table (object_reference schema: (identifier)? @receiver name: (identifier) @reference.use))
(invocation (object_reference schema: (identifier)? @receiver name: (identifier) @reference.call))
