; Definitions

(left_assignment name: [(identifier) (string)] @name value: (function_definition (_) @body .)) @definition.function
(equals_assignment name: (identifier) @name value: (function_definition (_) @body .)) @definition.function
(super_assignment name: (identifier) @name value: (function_definition (_) @body .)) @definition.function
(program (left_assignment name: (identifier) @name value: (call function: (identifier) @_class)
  (#any-of? @_class "R6Class" "setRefClass" "new_class")) @definition.class)
(program (left_assignment name: (identifier) @name) @definition.variable)
(program (equals_assignment name: (identifier) @name) @definition.variable)
(call function: (identifier) @_class arguments: (arguments . (string) @name) (#eq? @_class "setClass")) @definition.class
(call function: (identifier) @_generic arguments: (arguments . (string) @name)
  (#any-of? @_generic "setGeneric" "setMethod")) @definition.function
; The members of an R6 class.
(default_argument name: (identifier) @name value: (function_definition (_) @body .)) @definition.function

; References

(call function: (identifier) @reference.call)
(call function: (namespace_get namespace: (_) @receiver function: (identifier) @reference.call))
(call function: (dollar . (_) @receiver . (identifier) @reference.call))
(arguments (identifier) @reference.use)

; Imports

(call function: (identifier) @_library arguments: (arguments . [(identifier) (string)] @import.module)
  (#any-of? @_library "library" "require" "requireNamespace" "source"))
