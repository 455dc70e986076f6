; Definitions

(makefile (rule (targets (word) @name) (recipe)? @body) @definition.function (#not-match? @name "^[.]|%"))
(makefile (variable_assignment name: (word) @name) @definition.variable)
(makefile (define_directive name: (word) @name) @definition.macro)

; References

(prerequisites (word) @reference.use)
(variable_reference (word) @reference.use)

; Imports

(include_directive (list (word) @import.module))
