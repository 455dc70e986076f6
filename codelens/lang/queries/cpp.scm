; Read after c.scm, which holds what the two languages share: plain functions, structs, enums, variables, macros, calls.

; Functions: in a class, outside of it with its name before `::`, operators, destructors, specialisations, returning references.
(function_definition declarator: (function_declarator declarator: [
  (field_identifier) @name
  (destructor_name) @name
  (operator_name) @name
  (template_function name: (identifier) @name)
  (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: [
      (identifier) @name
      (destructor_name) @name
      (operator_name) @name
      (operator_cast) @name
      (template_function name: (identifier) @name)
      (qualified_identifier
        scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
        name: [
          (identifier) @name
          (destructor_name) @name
          (operator_name) @name
          (qualified_identifier
            scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
            name: [(identifier) @name (destructor_name) @name (operator_name) @name])])])])) @definition.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: [
  (field_identifier) @name
  (destructor_name) @name
  (operator_name) @name
  (template_function name: (identifier) @name)
  (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: [
      (identifier) @name
      (destructor_name) @name
      (operator_name) @name
      (operator_cast) @name
      (template_function name: (identifier) @name)
      (qualified_identifier
        scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
        name: [
          (identifier) @name
          (destructor_name) @name
          (operator_name) @name
          (qualified_identifier
            scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
            name: [(identifier) @name (destructor_name) @name (operator_name) @name])])])]))) @definition.function
(function_definition declarator: (reference_declarator (function_declarator declarator: [
  (identifier) @name
  (field_identifier) @name
  (destructor_name) @name
  (operator_name) @name
  (template_function name: (identifier) @name)
  (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: [
      (identifier) @name
      (destructor_name) @name
      (operator_name) @name
      (operator_cast) @name
      (template_function name: (identifier) @name)
      (qualified_identifier
        scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
        name: [
          (identifier) @name
          (destructor_name) @name
          (operator_name) @name
          (qualified_identifier
            scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
            name: [(identifier) @name (destructor_name) @name (operator_name) @name])])])]))) @definition.function
(function_definition declarator: (operator_cast) @name) @definition.function
(function_definition declarator: (qualified_identifier
  scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
  name: (operator_cast) @name)) @definition.function
(function_definition
  (attribute_declaration) @decorator
  declarator: (function_declarator declarator: [(identifier) (field_identifier)] @name)) @definition

; A pure virtual function is defined nowhere else.
(field_declaration declarator: [
  (function_declarator declarator: [(field_identifier) (operator_name)] @name)
  (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))
  (reference_declarator (function_declarator declarator: (field_identifier) @name))]
  default_value: (_)) @definition.function

(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(class_specifier name: (template_type name: (type_identifier) @name) body: (_)) @definition.class
(struct_specifier name: (template_type name: (type_identifier) @name) body: (_)) @definition.struct
(class_specifier name: (qualified_identifier scope: (_) @container name: [
  (type_identifier) @name
  (template_type name: (type_identifier) @name)]) body: (_)) @definition.class
(struct_specifier name: (qualified_identifier scope: (_) @container name: [
  (type_identifier) @name
  (template_type name: (type_identifier) @name)]) body: (_)) @definition.struct
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type

(declaration declarator: [
  (qualified_identifier scope: (namespace_identifier) @container name: (identifier) @name)
  (init_declarator declarator: (qualified_identifier
    scope: [(namespace_identifier) @container (template_type name: (type_identifier) @container)]
    name: (identifier) @name))
  (init_declarator declarator: (array_declarator declarator: (qualified_identifier
    scope: (namespace_identifier) @container
    name: (identifier) @name)))
  (init_declarator declarator: (reference_declarator (identifier) @name))]) @definition.variable
((field_declaration
  (storage_class_specifier)
  (type_qualifier) @_const
  declarator: [(field_identifier) @name (array_declarator declarator: (field_identifier) @name)]
  default_value: (_)) @definition.constant
  (#any-of? @_const "const" "constexpr"))

; A template is its line of parameters as well.
(template_declaration [
  (class_specifier name: (type_identifier) @name body: (_))
  (class_specifier name: (template_type name: (type_identifier) @name) body: (_))
  (struct_specifier name: (type_identifier) @name body: (_))
  (struct_specifier name: (template_type name: (type_identifier) @name) body: (_))
  (struct_specifier name: (qualified_identifier name: (template_type name: (type_identifier) @name)) body: (_))
  (alias_declaration name: (type_identifier) @name)
  (concept_definition name: (identifier) @name)
  (declaration declarator: (init_declarator declarator: (identifier) @name))
  (function_definition declarator: [
    (function_declarator declarator: [
      (identifier) @name
      (field_identifier) @name
      (operator_name) @name
      (template_function name: (identifier) @name)
      (qualified_identifier name: [(identifier) (destructor_name) (operator_name)] @name)
      (qualified_identifier name: (qualified_identifier name: [(identifier) (destructor_name) (operator_name)] @name))])
    (pointer_declarator declarator: (function_declarator declarator: [
      (identifier) @name
      (field_identifier) @name
      (qualified_identifier name: (identifier) @name)]))
    (reference_declarator (function_declarator declarator: [
      (identifier) @name
      (field_identifier) @name
      (operator_name) @name
      (qualified_identifier name: [(identifier) (operator_name)] @name)]))])]) @definition

; Namespaces qualify names, and what they hold stays functions. One without a name adds nothing.
(namespace_definition name: (_) @name) @scope.namespace

; References

(call_expression function: [
  (qualified_identifier scope: (_) @receiver name: (identifier) @reference.call)
  (qualified_identifier scope: (_) @receiver name: (template_function name: (identifier) @reference.call))
  (qualified_identifier name: (qualified_identifier scope: (_) @receiver name: [
    (identifier) @reference.call
    (template_function name: (identifier) @reference.call)
    (qualified_identifier name: (identifier) @reference.call)]))
  (template_function name: (identifier) @reference.call)
  (field_expression argument: (_) @receiver field: [
    (template_method name: (field_identifier) @reference.call)
    (dependent_name (template_method name: (field_identifier) @reference.call))])])
(new_expression type: [
  (type_identifier) @reference.construct
  (template_type name: (type_identifier) @reference.construct)
  (qualified_identifier scope: (_) @receiver name: (type_identifier) @reference.construct)
  (qualified_identifier scope: (_) @receiver name: (template_type name: (type_identifier) @reference.construct))])
(compound_literal_expression type: [
  (type_identifier) @reference.construct
  (template_type name: (type_identifier) @reference.construct)
  (qualified_identifier scope: (_) @receiver name: (type_identifier) @reference.construct)
  (qualified_identifier scope: (_) @receiver name: (template_type name: (type_identifier) @reference.construct))])
(base_class_clause [
  (type_identifier) @reference.extends
  (template_type name: (type_identifier) @reference.extends)
  (qualified_identifier scope: (_) @receiver name: (type_identifier) @reference.extends)
  (qualified_identifier scope: (_) @receiver name: (template_type name: (type_identifier) @reference.extends))
  (qualified_identifier name: (qualified_identifier scope: (_) @receiver name: (type_identifier) @reference.extends))])
(throw_statement [
  (call_expression function: (identifier) @reference.throw)
  (call_expression function: (qualified_identifier scope: (_) @receiver name: (identifier) @reference.throw))
  (compound_literal_expression type: (type_identifier) @reference.throw)
  (compound_literal_expression type: (qualified_identifier
    scope: (_) @receiver
    name: (type_identifier) @reference.throw))])
(qualified_identifier scope: (_) @receiver name: (type_identifier) @reference.type)
(qualified_identifier scope: (_) @receiver name: (template_type name: (type_identifier) @reference.type))

(argument_list [
  (qualified_identifier scope: (_) @receiver name: (identifier) @reference.use)
  (pointer_expression argument: (qualified_identifier scope: (_) @receiver name: (identifier) @reference.use))])
(initializer_list [
  (qualified_identifier scope: (_) @receiver name: (identifier) @reference.use)
  (pointer_expression argument: (qualified_identifier scope: (_) @receiver name: (identifier) @reference.use))])
(init_declarator value: (qualified_identifier scope: (_) @receiver name: (identifier) @reference.use))
(return_statement (qualified_identifier scope: (_) @receiver name: (identifier) @reference.use))
(attribute_declaration (attribute name: (identifier) @reference.decorate))

; Imports

(using_declaration "namespace" [(identifier) (qualified_identifier)] @import.module (#set! import.name "*"))
(using_declaration . "using" . (qualified_identifier scope: (_) @import.module name: (_) @import.name))
(namespace_alias_definition name: (_) @import.alias [(namespace_identifier) (nested_namespace_specifier)] @import.module)

; Bindings: what C does not know, references, `auto` and ranges.

((optional_parameter_declaration type: (_) @binding.type declarator: (_) @binding.declarator)
  (#not-match? @binding.declarator "[(]"))
((variadic_parameter_declaration type: (_) @binding.type declarator: (_) @binding.declarator)
  (#not-match? @binding.declarator "[(]"))
(parameter_declaration type: (placeholder_type_specifier) declarator: (_) @binding.declarator)
(declaration type: (_) @binding.type
  declarator: (init_declarator declarator: (_) @binding.declarator value: (argument_list)))
((declaration type: (placeholder_type_specifier)
  declarator: (init_declarator declarator: (_) @binding.declarator value: (_) @binding.value))
  (#not-match? @binding.declarator "[(\\[]"))
((init_declarator declarator: (_) @binding.declarator value: (call_expression function: [
    (template_function name: (identifier) @_cast arguments: (template_argument_list . (type_descriptor) @binding.type))
    (qualified_identifier name: (template_function
      name: (identifier) @_cast arguments: (template_argument_list . (type_descriptor) @binding.type)))]))
  (#match? @_cast "_cast$|^make_(unique|shared)$"))
((declaration type: (placeholder_type_specifier) declarator: (_) @binding.declarator value: (_) @binding.value)
  (#not-match? @binding.declarator "[(\\[]"))
((for_range_loop type: (_) @binding.type declarator: (_) @binding.declarator)
  (#not-eq? @binding.type "auto"))
((for_range_loop type: (placeholder_type_specifier) declarator: (_) @binding.declarator right: (_) @binding.element)
  (#not-match? @binding.declarator "\\["))
(structured_binding_declarator (identifier) @binding.name)
(alias_declaration name: (_) @binding.name type: (_) @binding.value)
(function_definition type: [(qualified_identifier) (template_type)] @binding.return)
(trailing_return_type (type_descriptor) @binding.return)
(declaration declarator: (reference_declarator (function_declarator parameters: (_) @prototype)))
(field_declaration declarator: (reference_declarator (function_declarator parameters: (_) @prototype)))
(type_descriptor declarator: (abstract_function_declarator parameters: (_) @prototype))
(lambda_expression) @closure
; What literals name

((call_expression
  function: [(identifier) @_get (qualified_identifier name: (identifier) @_get)]
  arguments: (argument_list . (string_literal . (string_content) @reference.env .)))
  (#any-of? @_get "getenv" "secure_getenv" "g_getenv" "qgetenv" "qEnvironmentVariable"))
((call_expression
  function: [(identifier) @_run (qualified_identifier name: (identifier) @_run)]
  arguments: (argument_list . (string_literal . (string_content) @reference.process)))
  (#any-of? @_run "system" "popen" "execl" "execle" "execlp" "execv" "execve" "execvp" "execvpe"))
