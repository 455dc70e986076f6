; Definitions, by the grammar of tree-sitter-languages 1.10.

(module_definition name: (identifier) @name) @definition.module
(function_definition name: [
  (identifier) @name
  (operator) @name
  (field_expression (_) @container (identifier) @name)]) @definition.function
(short_function_definition name: [
  (identifier) @name
  (operator) @name
  (field_expression (_) @container (identifier) @name)]) @definition.function
(macro_definition name: (identifier) @name) @definition.macro
(struct_definition name: (identifier) @name) @definition.struct
(abstract_definition name: (identifier) @name) @definition.type
(primitive_definition name: (identifier) @name) @definition.type
(const_statement (assignment . (identifier) @name)) @definition.constant

; References

(call_expression . (identifier) @reference.call)
(call_expression . (field_expression (_) @receiver (identifier) @reference.call))
(type_clause [(identifier) @reference.extends (parametrized_type_expression . (identifier) @reference.extends)])
(macrocall_expression (macro_identifier (identifier) @reference.call))
(typed_expression (_) (identifier) @reference.type)
(typed_parameter (_) (identifier) @reference.type)
(argument_list (identifier) @reference.use)

; Imports

(import_statement (identifier) @import.module)
(selected_import . (identifier) @import.module (identifier) @import.name)
