; Definitions

(function_declaration name: (identifier) @name body: (block)? @body) @definition.function
(variable_declaration (identifier) @name [(struct_declaration) (opaque_declaration)] @body) @definition.struct
(variable_declaration (identifier) @name (union_declaration) @body) @definition.struct
(variable_declaration (identifier) @name (enum_declaration) @body) @definition.enum
(variable_declaration (identifier) @name (error_set_declaration) @body) @definition.enum
(source_file (variable_declaration . (identifier) @name) @definition.variable)
(test_declaration (string (string_content) @name) (block) @body) @definition.function

; References

(call_expression function: (identifier) @reference.call)
(call_expression function: (field_expression object: (_) @receiver member: (identifier) @reference.call))
(parameter type: (identifier) @reference.type)
(container_field type: (identifier) @reference.type)
(struct_initializer . (identifier) @reference.construct)

; Imports

(variable_declaration (identifier) @import.alias (builtin_function (builtin_identifier) @_import
  (arguments (string (string_content) @import.module))) (#eq? @_import "@import"))
