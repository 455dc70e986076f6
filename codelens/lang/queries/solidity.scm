; Definitions

(contract_declaration name: (identifier) @name body: (_) @body) @definition.class
(interface_declaration name: (identifier) @name body: (_) @body) @definition.interface
(library_declaration name: (identifier) @name body: (_) @body) @definition.module
(struct_declaration name: (identifier) @name body: (_) @body) @definition.struct
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(event_definition name: (identifier) @name) @definition.type
(error_declaration name: (identifier) @name) @definition.type
(modifier_definition name: (identifier) @name body: (_) @body) @definition.method
(function_definition name: (identifier) @name body: (_)? @body) @definition.function
(state_variable_declaration name: (identifier) @name) @definition.property

; References

(call_expression function: (expression (identifier) @reference.call))
(call_expression function: (expression (member_expression object: (_) @receiver property: (identifier) @reference.call)))
(emit_statement name: (expression (identifier) @reference.call))
(inheritance_specifier ancestor: (user_defined_type (identifier) @reference.extends))
(user_defined_type (identifier) @reference.type)

; Imports

(import_directive source: (string) @import.module)
