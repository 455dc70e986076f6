; Definitions: each clause of a function is one, under the same name.

(module_attribute name: (atom) @namespace)
(fun_decl clause: (function_clause name: (atom) @name body: (_) @body)) @definition.function
(pp_define lhs: (macro_lhs name: (_) @name)) @definition.macro
(record_decl name: (atom) @name) @definition.struct
(type_alias name: (type_name name: (atom) @name)) @definition.type
(opaque name: (type_name name: (atom) @name)) @definition.type

; References

(call expr: (atom) @reference.call)
(call expr: (remote module: (remote_module module: (_) @receiver) fun: (atom) @reference.call))
(internal_fun fun: (atom) @reference.use)
(external_fun module: (_) @receiver fun: (atom) @reference.use)
(record_expr name: (record_name name: (atom) @reference.construct))
(record_update_expr name: (record_name name: (atom) @reference.type))
(record_field_expr name: (record_name name: (atom) @reference.type))
(macro_call_expr name: (_) @reference.use)
(behaviour_attribute name: (atom) @reference.implements)

; Imports

(pp_include file: (string) @import.module)
(pp_include_lib file: (string) @import.module)
(import_attribute module: (atom) @import.module funs: (fa fun: (atom) @import.name))
