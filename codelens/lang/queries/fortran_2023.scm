; Definitions

(module (module_statement (name) @name)) @definition.module
(submodule (submodule_statement (name) @name)) @definition.module
(program (program_statement (name) @name)) @definition.module
(function (function_statement name: (name) @name)) @definition.function
(subroutine (subroutine_statement name: (name) @name)) @definition.function
(derived_type_definition (derived_type_statement (type_name) @name)) @definition.struct
(derived_type_procedures (procedure_statement (method_name) @name) @definition.method)
(interface (interface_statement (name) @name)) @definition.interface
(module (variable_declaration (type_qualifier) @_parameter (assignment_statement left: (identifier) @name)
  (#match? @_parameter "^[Pp]")) @definition.constant)
(module (variable_declaration (identifier) @name) @definition.variable)
(module (variable_declaration (assignment_statement left: (identifier) @name)) @definition.variable)

; References

(call_expression . (identifier) @reference.call)
(call_expression . (derived_type_member_expression (_) @receiver (type_member) @reference.call))
(subroutine_call subroutine: (identifier) @reference.call)
(subroutine_call subroutine: (derived_type_member_expression (_) @receiver (type_member) @reference.call))
(base_type_specifier (identifier) @reference.extends)
(derived_type (type_name) @reference.type)
(interface (procedure_statement (method_name) @reference.use))
(argument_list (identifier) @reference.use)

; Imports

(use_statement (module_name) @import.module .)
(use_statement (module_name) @import.module (included_items (identifier) @import.name))
