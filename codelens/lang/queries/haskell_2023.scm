; Definitions: each equation of a function is one, under the same name.

(haskell module: (_) @namespace)
(function name: (variable) @name rhs: (_) @body) @definition.function
(function name: (variable) @name) @definition.function
(adt name: (type) @name) @definition.type
(newtype name: (type) @name) @definition.type
(type_alias name: (type) @name) @definition.type
(data_constructor . (constructor) @name) @definition.constant
(data_constructor_record . (constructor) @name) @definition.constant
(newtype_constructor . (constructor) @name) @definition.constant
(class (class_head class: (class_name (type) @name)) (class_body)? @body) @definition.trait
(class_body (signature name: (variable) @name) @definition.function)
(instance (instance_head class: (class_name (type) @name))) @scope

; References

(exp_apply . (exp_name (variable) @reference.call))
(exp_apply . (exp_name (qualified_variable (_) @receiver (variable) @reference.call)))
(exp_apply . (exp_name (constructor) @reference.construct))
(exp_infix . (exp_name (variable) @reference.call) . (operator) @_apply (#any-of? @_apply "$" "$!" "<$>" "." ">>=" "=<<"))
(exp_infix . (exp_name (qualified_variable (_) @receiver (variable) @reference.call)) . (operator) @_apply
  (#any-of? @_apply "$" "$!" "<$>" "." ">>=" "=<<"))
(exp_apply (exp_name (variable) @reference.use))
(exp_infix (exp_name (variable) @reference.use))
(exp_infix (exp_name (qualified_variable (_) @receiver (variable) @reference.use)))
(function rhs: (exp_name (variable) @reference.use))
(type_name (type) @reference.type)
(instance_head class: (class_name (type) @reference.implements))
(deriving class: (constraint class: (class_name (type) @reference.implements)))
(context (constraint class: (class_name (type) @reference.type)))

; Imports

(import . (_) @import.module .)
(import . (_) @import.module . (module) @import.alias)
(import . (_) @import.module (import_list (import_item . (_) @import.name)))
