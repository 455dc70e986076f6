; Definitions: each equation of a function is one, under the same name.

(header module: (module) @namespace)
(function name: (variable) @name match: (_) @body) @definition.function
(bind name: (variable) @name match: (_) @body) @definition.function
(data_type name: (name) @name) @definition.type
(newtype name: (name) @name) @definition.type
(type_synonym name: (name) @name) @definition.type
(data_constructor (prefix name: (constructor) @name)) @definition.constant
(data_constructor (record name: (constructor) @name)) @definition.constant
(newtype_constructor name: (constructor) @name) @definition.constant
(class name: (name) @name "where"? @body) @definition.trait
(class_declarations (signature name: (variable) @name) @definition.function)
(instance name: (name) @name) @scope

; References

(apply function: (variable) @reference.call)
(apply function: (qualified module: (module (module_id) @receiver .) id: (variable) @reference.call))
(apply function: (constructor) @reference.construct)
(infix left_operand: (variable) @reference.call operator: (operator) @_apply
  (#any-of? @_apply "$" "$!" "<$>" "." ">>=" "=<<"))
(infix left_operand: (qualified module: (module (module_id) @receiver .) id: (variable) @reference.call) operator: (operator) @_apply
  (#any-of? @_apply "$" "$!" "<$>" "." ">>=" "=<<"))
(apply argument: (variable) @reference.use)
(infix left_operand: (variable) @reference.use)
(infix right_operand: (variable) @reference.use)
(infix right_operand: (qualified module: (module (module_id) @receiver .) id: (variable) @reference.use))
(match expression: (variable) @reference.use)
(name) @reference.type
(instance name: (name) @reference.implements)
(deriving classes: (name) @reference.implements)
(deriving classes: (_ (name) @reference.implements))

; Imports

(import module: (module) @import.module !names !alias)
(import module: (module) @import.module alias: (module) @import.alias)
(import module: (module) @import.module names: (import_list name: (import_name . (_) @import.name)))
