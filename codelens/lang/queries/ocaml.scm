; Definitions

(module_binding (module_name) @name) @definition.module
(module_type_definition (module_type_name) @name) @definition.interface
(type_binding name: (type_constructor) @name) @definition.type
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.type
(external (value_name) @name) @definition.function
(value_specification (value_name) @name) @definition.function
(class_binding (class_name) @name) @definition.class
(method_definition (method_name) @name) @definition.method
(let_binding pattern: (value_name) @name . (parameter)) @definition.function
(let_binding pattern: (value_name) @name body: [(fun_expression) (function_expression)]) @definition.function
(compilation_unit (value_definition (let_binding pattern: (value_name) @name) @definition.variable))
(structure (value_definition (let_binding pattern: (value_name) @name) @definition.variable))

; References

(application_expression function: (value_path . (value_name) @reference.call))
(application_expression function: (value_path (module_path) @receiver (value_name) @reference.call))
(infix_expression operator: (_) @_pipe right: (value_path (value_name) @reference.call) (#any-of? @_pipe "|>" ">>|" ">>="))
(infix_expression left: (value_path (value_name) @reference.call) operator: (_) @_apply (#eq? @_apply "@@"))
(application_expression function: (constructor_path (constructor_name) @reference.construct))
(new_expression (class_path (class_name) @reference.construct))
(application_expression function: (value_path (value_name) @_raise)
  argument: [
    (constructor_path (constructor_name) @reference.throw)
    (parenthesized_expression (application_expression function: (constructor_path (constructor_name) @reference.throw)))]
  (#any-of? @_raise "raise" "raise_notrace"))
(application_expression argument: (value_path . (value_name) @reference.use))
(application_expression argument: (value_path (module_path) @receiver (value_name) @reference.use))
(type_constructor_path (type_constructor) @reference.type)

; Imports

(open_module (module_path) @import.module (#set! import.name "*"))
