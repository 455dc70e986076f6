; Definitions

(module_definition name: (identifier) @name) @definition.module
(function_definition (signature [
  (call_expression . (identifier) @name)
  (typed_expression . (call_expression . (identifier) @name))
  (where_expression . (call_expression . (identifier) @name))])) @definition.function
(function_definition (signature (call_expression . (field_expression (_) @container (identifier) @name)))) @definition.function
(assignment . (call_expression . (identifier) @name)) @definition.function
(assignment . (call_expression . (field_expression (_) @container (identifier) @name))) @definition.function
(macro_definition (signature (call_expression . (identifier) @name))) @definition.macro
(struct_definition (type_head [
  (identifier) @name
  (binary_expression . (identifier) @name)
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . (parametrized_type_expression . (identifier) @name))])) @definition.struct
(abstract_definition (type_head [(identifier) @name (binary_expression . (identifier) @name)])) @definition.type
(const_statement (assignment . (identifier) @name)) @definition.constant

; References

(call_expression . (identifier) @reference.call)
(call_expression . (field_expression (_) @receiver (identifier) @reference.call))
(type_head (binary_expression (identifier) (operator) (identifier) @reference.extends))
(macrocall_expression (macro_identifier (identifier) @reference.call))
(typed_expression (_) (identifier) @reference.type)
(argument_list (identifier) @reference.use)

; Imports

(using_statement (identifier) @import.module)
(import_statement (identifier) @import.module)
(selected_import . (identifier) @import.module (identifier) @import.name)
