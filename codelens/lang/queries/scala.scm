; Definitions

(class_definition name: (_) @name) @definition.class
(class_definition (annotation) @decorator name: (_) @name) @definition
(object_definition name: (_) @name) @definition.class
(object_definition (annotation) @decorator name: (_) @name) @definition
(trait_definition name: (_) @name) @definition.trait
(trait_definition (annotation) @decorator name: (_) @name) @definition
(enum_definition name: (_) @name) @definition.enum
(enum_definition (annotation) @decorator name: (_) @name) @definition
(package_object name: (_) @name) @definition.module
(full_enum_case name: (_) @name) @definition.class
(simple_enum_case name: (_) @name) @definition.constant
(type_definition name: (_) @name) @definition.type
(function_definition name: (_) @name) @definition.function
(function_definition (annotation) @decorator name: (_) @name) @definition
(function_declaration name: (_) @name) @definition.function
(function_declaration (annotation) @decorator name: (_) @name) @definition

; A given with members is a class of one; one with a value is a constant; one without a name lends its members the type's.
(given_definition name: (_) @name body: (with_template_body)) @definition.class
(given_definition name: (_) @name) @definition.constant
(given_definition !name return_type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]
  body: (with_template_body)) @scope
(extension_definition) @scope
(extension_definition parameters: (parameters
  (parameter type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]))
  (#not-match? @name "^[A-Z]$")) @scope
(instance_expression [
    (type_identifier) @name
    (generic_type type: (type_identifier) @name)
    (stable_type_identifier (type_identifier) @name)
    (compound_type base: [(type_identifier) @name (applied_constructor_type . (type_identifier) @name)])]
  (template_body)) @scope

; What a singleton or the top level holds is there once; a name in capitals or CamelCase is a constant by Scala's style guide.
(object_definition body: (template_body
  (val_definition pattern: (identifier) @name (#match? @name "^[A-Z]")) @definition.constant))
(object_definition body: (template_body (val_definition pattern: (identifier) @name) @definition.variable))
(object_definition body: (template_body (var_definition pattern: (identifier) @name) @definition.variable))
(object_definition body: (template_body (val_definition pattern: (identifiers (identifier) @name)) @definition.variable))
(package_object body: (template_body
  (val_definition pattern: (identifier) @name (#match? @name "^[A-Z]")) @definition.constant))
(package_object body: (template_body (val_definition pattern: (identifier) @name) @definition.variable))
(package_object body: (template_body (var_definition pattern: (identifier) @name) @definition.variable))
(compilation_unit (val_definition pattern: (identifier) @name (#match? @name "^[A-Z]")) @definition.constant)
(compilation_unit (val_definition pattern: (identifier) @name) @definition.variable)
(compilation_unit (var_definition pattern: (identifier) @name) @definition.variable)

(compilation_unit (package_clause name: (package_identifier) @namespace)+)

; References

(call_expression function: [
  (identifier) @reference.call
  (field_expression value: (_) @receiver field: (identifier) @reference.call)])
(generic_function function: [
  (identifier) @reference.call
  (field_expression value: (_) @receiver field: (identifier) @reference.call)])
(infix_expression left: (_) @receiver operator: (identifier) @reference.call)
(postfix_expression (_) @receiver . (identifier) @reference.call)
(interpolated_string_expression interpolator: (identifier) @reference.call
  (#not-match? @reference.call "^(s|f|raw)$"))
(instance_expression (type_identifier) @reference.construct)
(instance_expression (generic_type type: [
  (type_identifier) @reference.construct
  (stable_type_identifier (type_identifier) @reference.construct)]))
(instance_expression (stable_type_identifier (_) @receiver . (type_identifier) @reference.construct))
(instance_expression (compound_type base: [
  (type_identifier) @reference.construct
  (generic_type type: (type_identifier) @reference.construct)
  (applied_constructor_type . (type_identifier) @reference.construct)]))
(compound_type extra: (type_identifier) @reference.implements)
(extends_clause . (type_identifier) @reference.extends)
(extends_clause . (generic_type type: [
  (type_identifier) @reference.extends
  (stable_type_identifier (type_identifier) @reference.extends)]))
(extends_clause . (stable_type_identifier (_) @receiver . (type_identifier) @reference.extends))
(extends_clause (_) (type_identifier) @reference.implements)
(extends_clause (_) (generic_type type: [
  (type_identifier) @reference.implements
  (stable_type_identifier (type_identifier) @reference.implements)]))
(extends_clause (_) (stable_type_identifier (_) @receiver . (type_identifier) @reference.implements))
(derives_clause (type_identifier) @reference.implements)
(given_definition return_type: [(type_identifier) @reference.implements (generic_type type: (type_identifier) @reference.implements)]
  body: (with_template_body))
(annotation name: [(type_identifier) @reference.decorate (generic_type type: (type_identifier) @reference.decorate)])
(throw_expression [
  (instance_expression [
    (type_identifier) @reference.throw
    (stable_type_identifier (_) @receiver . (type_identifier) @reference.throw)])
  (call_expression function: (identifier) @reference.throw)])
; One capital is a type parameter.
((type_identifier) @reference.type (#not-match? @reference.type "^[A-Z]$"))
(field_expression value: (_) @receiver field: (identifier) @reference.field)

(arguments (identifier) @reference.use)
(arguments (assignment_expression right: (identifier) @reference.use))
(assignment_expression right: (identifier) @reference.use)
(val_definition value: (identifier) @reference.use)
(var_definition value: (identifier) @reference.use)
(function_definition body: (identifier) @reference.use)
(given_definition body: (identifier) @reference.use)
(block (identifier) @reference.use)
(indented_block (identifier) @reference.use)
(case_clause body: (identifier) @reference.use)
(if_expression [(identifier) @reference.use])
(lambda_expression parameters: (_) (identifier) @reference.use)
(infix_expression right: (identifier) @reference.use)
(tuple_expression (identifier) @reference.use)
(interpolation (identifier) @reference.use)
(enumerator (_) . (identifier) @reference.use)
(return_expression (identifier) @reference.use)
(parenthesized_expression (identifier) @reference.use)
(splice_expression (identifier) @reference.use)
(quote_expression (identifier) @reference.use)

; Imports: one declaration may hold several paths with commas between.

(import_declaration ["import" ","] . ((identifier) @import.module . ".")+ . (identifier) @import.name .)
(import_declaration ["import" ","] . ((identifier) @import.module . ".")+ . (identifier) @import.name . ",")
(import_declaration ["import" ","] . ((identifier) @import.module . ".")+
  . (as_renamed_identifier name: (_) @import.name alias: (_) @import.alias))
(import_declaration ["import" ","] . ((identifier) @import.module . ".")+ . (namespace_wildcard) @_all
  (#any-of? @_all "_" "*") (#set! import.name "*"))
(import_declaration ["import" ","] . ((identifier) @import.module . ".")+ . (namespace_selectors (identifier) @import.name))
(import_declaration ["import" ","] . ((identifier) @import.module . ".")+ . (namespace_selectors
  (arrow_renamed_identifier name: (_) @import.name alias: (_) @import.alias)))
(import_declaration ["import" ","] . ((identifier) @import.module . ".")+ . (namespace_selectors
  (as_renamed_identifier name: (_) @import.name alias: (_) @import.alias)))
(import_declaration ["import" ","] . ((identifier) @import.module . ".")+ . (namespace_selectors (namespace_wildcard) @_all)
  (#any-of? @_all "_" "*") (#set! import.name "*"))
(import_declaration ["import" ","] . ((identifier) @import.module . ".")+
  . (namespace_selectors (namespace_wildcard) @import.name) (#eq? @import.name "given"))
(import_declaration ["import" ","] . ((identifier) @import.module . ".")+
  . (generic_type type: (type_identifier) @import.name))

; Bindings

; Names that a function without a name binds are bound in it alone.
(lambda_expression) @closure

(class_parameter name: (identifier) @binding.name type: (_) @binding.type)
(parameter name: (identifier) @binding.name type: (_) @binding.type)
(binding name: (identifier) @binding.name type: (_) @binding.type)
(binding name: (identifier) @binding.name !type)
(lambda_expression parameters: (identifier) @binding.name)
(val_definition pattern: (identifier) @binding.name type: (_) @binding.type)
(var_definition pattern: (identifier) @binding.name type: (_) @binding.type)
(val_definition pattern: (identifiers (identifier) @binding.name) type: (_) @binding.type)
(val_definition pattern: (identifier) @binding.name value: (_) @binding.value)
(var_definition pattern: (identifier) @binding.name value: (_) @binding.value)
(val_declaration name: (identifier) @binding.name type: (_) @binding.type)
(var_declaration name: (identifier) @binding.name type: (_) @binding.type)
(given_definition name: (_) @binding.name return_type: (_) @binding.type)
(enum_definition name: (_) @binding.type
  body: (enum_body (enum_case_definitions (simple_enum_case name: (_) @binding.name))))
(type_definition name: (type_identifier) @binding.name type: (_) @binding.value)
(enumerator . (identifier) @binding.name "<-" . (_) @binding.element)
(enumerator . (identifier) @binding.name "=" . (_) @binding.value)

(typed_pattern pattern: (identifier) @binding.name type: (_) @binding.type)
(capture_pattern name: (identifier) @binding.name)
(case_class_pattern pattern: (identifier) @binding.name (#match? @binding.name "^[a-z]"))
(tuple_pattern (identifier) @binding.name (#match? @binding.name "^[a-z]"))
(infix_pattern (identifier) @binding.name (#match? @binding.name "^[a-z]"))
(case_clause pattern: (identifier) @binding.name (#match? @binding.name "^[a-z]"))

(function_definition return_type: (_) @binding.return)
(function_declaration return_type: (_) @binding.return)
(function_definition !return_type body: [
  (call_expression) @binding.result
  (field_expression) @binding.result
  (instance_expression) @binding.result
  (identifier) @binding.result
  (block [(call_expression) (field_expression) (instance_expression) (identifier)] @binding.result .)
  (indented_block [(call_expression) (field_expression) (instance_expression) (identifier)] @binding.result .)])
; What literals name

((call_expression
  function: (field_expression) @_env arguments: (arguments . (string) @reference.env))
  (#any-of? @_env "sys.env" "sys.env.get" "sys.env.getOrElse" "sys.env.contains" "System.getenv"))
((call_expression
  function: (identifier) @_process arguments: (arguments . [
    (string) @reference.process (call_expression arguments: (arguments . (string) @reference.process))]))
  (#eq? @_process "Process"))
((annotation name: (type_identifier) @receiver arguments: (arguments . (string) @reference.route))
  (#any-of? @receiver "Path" "GetMapping" "PostMapping" "PutMapping" "DeleteMapping" "PatchMapping" "RequestMapping"))
