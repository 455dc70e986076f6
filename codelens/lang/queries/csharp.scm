; Definitions

(class_declaration name: (identifier) @name) @definition.class
(record_declaration "struct" name: (identifier) @name) @definition.struct
(record_declaration name: (identifier) @name) @definition.class
(struct_declaration name: (identifier) @name) @definition.struct
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(destructor_declaration name: (identifier) @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(property_declaration name: (identifier) @name accessors: (_) @body) @definition.property
(property_declaration name: (identifier) @name value: (arrow_expression_clause) @body) @definition.property
(indexer_declaration "this" @name accessors: (_) @body) @definition.property
(indexer_declaration "this" @name value: (arrow_expression_clause) @body) @definition.property
(event_declaration name: (identifier) @name accessors: (_) @body) @definition.property
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.property

; An operator's name is its sign; that of a conversion is `operator`, its signature says the types.
(operator_declaration operator: _ @name) @definition.method
(conversion_operator_declaration "operator" @name) @definition.method

; Of the fields only those that never change.
((field_declaration
  (modifier) @_const
  (variable_declaration (variable_declarator name: (identifier) @name))) @definition.constant
  (#eq? @_const "const"))
((field_declaration
  (modifier) @_static
  (modifier) @_readonly
  (variable_declaration (variable_declarator name: (identifier) @name))) @definition.constant
  (#eq? @_static "static") (#eq? @_readonly "readonly"))
(global_statement (local_declaration_statement
  (variable_declaration (variable_declarator name: (identifier) @name)))) @definition.variable

; Attributes are children of what they speak of.
(class_declaration (attribute_list (attribute) @decorator) name: (identifier) @name) @definition
(record_declaration (attribute_list (attribute) @decorator) name: (identifier) @name) @definition
(struct_declaration (attribute_list (attribute) @decorator) name: (identifier) @name) @definition
(interface_declaration (attribute_list (attribute) @decorator) name: (identifier) @name) @definition
(enum_declaration (attribute_list (attribute) @decorator) name: (identifier) @name) @definition
(delegate_declaration (attribute_list (attribute) @decorator) name: (identifier) @name) @definition
(method_declaration (attribute_list (attribute) @decorator) name: (identifier) @name) @definition
(constructor_declaration (attribute_list (attribute) @decorator) name: (identifier) @name) @definition
(property_declaration (attribute_list (attribute) @decorator) name: (identifier) @name) @definition
(field_declaration
  (attribute_list (attribute) @decorator)
  (variable_declaration (variable_declarator name: (identifier) @name))) @definition

(compilation_unit (namespace_declaration name: (_) @namespace))
(compilation_unit (file_scoped_namespace_declaration name: (_) @namespace))

; References

(invocation_expression function: [
  (identifier) @reference.call
  (generic_name . (identifier) @reference.call)
  (member_access_expression expression: _ @receiver name: (identifier) @reference.call)
  (member_access_expression expression: _ @receiver name: (generic_name . (identifier) @reference.call))
  (conditional_access_expression
    condition: _ @receiver
    (member_binding_expression name: (identifier) @reference.call))
  (conditional_access_expression
    condition: _ @receiver
    (member_binding_expression name: (generic_name . (identifier) @reference.call)))])
(object_creation_expression type: [
  (identifier) @reference.construct
  (generic_name . (identifier) @reference.construct)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.construct)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.construct))])
(throw_statement (object_creation_expression type: [
  (identifier) @reference.throw
  (generic_name . (identifier) @reference.throw)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.throw)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.throw))]))
(throw_expression (object_creation_expression type: [
  (identifier) @reference.throw
  (generic_name . (identifier) @reference.throw)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.throw)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.throw))]))

; The syntax does not tell a base class from an interface; the custom of the leading I does.
((class_declaration (base_list [
  (identifier) @reference.implements
  (generic_name . (identifier) @reference.implements)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.implements)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.implements))]))
  (#match? @reference.implements "^I[A-Z]"))
((class_declaration (base_list [
  (identifier) @reference.extends
  (generic_name . (identifier) @reference.extends)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.extends)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.extends))]))
  (#not-match? @reference.extends "^I[A-Z]"))
((record_declaration (base_list [
  (identifier) @reference.implements
  (generic_name . (identifier) @reference.implements)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.implements)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.implements))]))
  (#match? @reference.implements "^I[A-Z]"))
((record_declaration (base_list [
  (identifier) @reference.extends
  (generic_name . (identifier) @reference.extends)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.extends)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.extends))]))
  (#not-match? @reference.extends "^I[A-Z]"))
((struct_declaration (base_list [
  (identifier) @reference.implements
  (generic_name . (identifier) @reference.implements)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.implements)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.implements))]))
  (#match? @reference.implements "^I[A-Z]"))
((struct_declaration (base_list [
  (identifier) @reference.extends
  (generic_name . (identifier) @reference.extends)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.extends)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.extends))]))
  (#not-match? @reference.extends "^I[A-Z]"))
(interface_declaration (base_list [
  (identifier) @reference.extends
  (generic_name . (identifier) @reference.extends)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.extends)
  (qualified_name qualifier: (_) @receiver name: (generic_name . (identifier) @reference.extends))]))
(base_list (primary_constructor_base_type type: (identifier) @reference.extends))

(attribute name: [
  (identifier) @reference.decorate
  (generic_name . (identifier) @reference.decorate)
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.decorate)])

(generic_name . (identifier) @reference.type)
(type_argument_list [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(parameter type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(variable_declaration type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(property_declaration type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(indexer_declaration type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(event_declaration type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(delegate_declaration type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(operator_declaration type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(conversion_operator_declaration type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(local_function_statement type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(method_declaration returns: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(array_type type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(nullable_type type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(tuple_element type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(cast_expression type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(typeof_expression type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(catch_declaration type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])
(declaration_pattern type: [
  (identifier) @reference.type
  (qualified_name qualifier: (_) @receiver name: (identifier) @reference.type)])

(argument [
  (identifier) @reference.use
  (member_access_expression expression: _ @receiver name: (identifier) @reference.use)])
(variable_declarator name: (identifier) (identifier) @reference.use)
(assignment_expression right: [
  (identifier) @reference.use
  (member_access_expression expression: _ @receiver name: (identifier) @reference.use)])
(initializer_expression (identifier) @reference.use)
(return_statement (identifier) @reference.use)
(arrow_expression_clause (identifier) @reference.use)
(member_access_expression expression: "this" @receiver name: (identifier) @reference.field)

; Imports: a type that is used statically gives all its members.

((using_directive !name [(identifier) (qualified_name) (alias_qualified_name)] @import.module) @_using
  (#not-match? @_using "^(global\\s+)?using\\s+static"))
((using_directive "static" !name [(identifier) (qualified_name)] @import.module)
  (#set! import.name "*"))
(using_directive name: (identifier) @import.alias "=" (_) @import.module)

; Bindings. A value is asked for only where the declaration leaves the type to it.

(parameter type: (_) @binding.type name: (identifier) @binding.name)
(parameter_list type: (_) @binding.type name: (identifier) @binding.name)
(lambda_expression parameters: (parameter_list (parameter !type name: (identifier) @binding.name)))
(implicit_parameter) @binding.name
(variable_declaration type: (_) @binding.type (variable_declarator name: (identifier) @binding.name)
  (#not-eq? @binding.type "var"))
(variable_declaration type: (implicit_type) (variable_declarator name: (identifier) @binding.name "=" . (_) @binding.value))
(property_declaration type: (_) @binding.type name: (identifier) @binding.name)
(event_declaration type: (_) @binding.type name: (identifier) @binding.name)
(foreach_statement type: (_) @binding.type left: (identifier) @binding.name (#not-eq? @binding.type "var"))
(foreach_statement type: (implicit_type) left: (identifier) @binding.name right: (_) @binding.element)
(from_clause name: (identifier) @binding.name . (_) @binding.element)
(catch_declaration type: (_) @binding.type name: (identifier) @binding.name)
(declaration_pattern type: (_) @binding.type name: (identifier) @binding.name (#not-eq? @binding.type "var"))
(declaration_pattern type: (implicit_type) name: (identifier) @binding.name)
(recursive_pattern type: (_) @binding.type name: (identifier) @binding.name)
(declaration_expression type: (_) @binding.type name: (identifier) @binding.name (#not-eq? @binding.type "var"))
(declaration_expression type: (implicit_type) name: (identifier) @binding.name)
(tuple_pattern name: (identifier) @binding.name)

((method_declaration returns: (_) @binding.return) (#not-eq? @binding.return "void"))
(local_function_statement type: (_) @binding.return)
; What literals name

((invocation_expression
  function: (member_access_expression expression: _ @_environment name: (identifier) @_get)
  arguments: (argument_list . (argument (string_literal . (string_literal_content) @reference.env .))))
  (#match? @_environment "(^|\\.)Environment$") (#eq? @_get "GetEnvironmentVariable"))

((invocation_expression
  function: (member_access_expression expression: _ @_process name: (identifier) @_start)
  arguments: (argument_list . (argument (string_literal . (string_literal_content) @reference.process))))
  (#match? @_process "(^|\\.)Process$") (#eq? @_start "Start"))
((object_creation_expression type: (identifier) @_start
  arguments: (argument_list . (argument (string_literal . (string_literal_content) @reference.process))))
  (#eq? @_start "ProcessStartInfo"))
((assignment_expression
  left: [(identifier) @_name (member_access_expression name: (identifier) @_name)]
  right: (string_literal . (string_literal_content) @reference.process .))
  (#eq? @_name "FileName") (#not-match? @reference.process "[\\s/]|\\.[a-z]{2,5}$"))

((attribute name: (identifier) @receiver (attribute_argument_list
  . (attribute_argument (string_literal . (string_literal_content) @reference.route .) .)))
  (#any-of? @receiver "HttpGet" "HttpPost" "HttpPut" "HttpDelete" "HttpPatch" "HttpHead" "HttpOptions" "Route" "RoutePrefix"))
((invocation_expression
  function: (member_access_expression name: (identifier) @receiver)
  arguments: (argument_list
    . (argument (string_literal . (string_literal_content) @reference.route .) .) . (argument)))
  (#any-of? @receiver "MapGet" "MapPost" "MapPut" "MapDelete" "MapPatch" "Map" "MapMethods" "MapFallback")
  (#match? @reference.route "^/"))
((invocation_expression
  function: (member_access_expression name: (generic_name . (identifier) @receiver))
  arguments: (argument_list . (argument (string_literal . (string_literal_content) @reference.route .) .)))
  (#any-of? @receiver "MapHub" "MapGrpcService") (#match? @reference.route "^/"))

((invocation_expression
  function: (member_access_expression name: [(identifier) @receiver (generic_name . (identifier) @receiver)])
  arguments: (argument_list . (argument (string_literal . (string_literal_content) @reference.endpoint .) .)))
  (#any-of? @receiver "GetAsync" "GetStringAsync" "GetStreamAsync" "GetByteArrayAsync" "PostAsync" "PutAsync" "DeleteAsync"
    "PatchAsync" "GetFromJsonAsync" "PostAsJsonAsync" "PutAsJsonAsync" "PatchAsJsonAsync" "DeleteFromJsonAsync")
  (#match? @reference.endpoint "/"))
((object_creation_expression type: (identifier) @_message arguments: (argument_list
  . (argument) @receiver . (argument (string_literal . (string_literal_content) @reference.endpoint .) .)))
  (#eq? @_message "HttpRequestMessage"))
; Refit
((method_declaration (attribute_list (attribute name: (identifier) @receiver (attribute_argument_list
  . (attribute_argument (string_literal . (string_literal_content) @reference.endpoint .) .)))))
  (#any-of? @receiver "Get" "Post" "Put" "Delete" "Patch" "Head") (#match? @reference.endpoint "^/"))

([
  (invocation_expression
    function: (member_access_expression name: (identifier) @_asks)
    arguments: (argument_list . (argument (string_literal . (string_literal_content) @reference.flag .) .)))
  (attribute name: (identifier) @_asks (attribute_argument_list
    . (attribute_argument (string_literal . (string_literal_content) @reference.flag .) .)))
] (#any-of? @_asks "IsEnabledAsync" "IsEnabled" "FeatureGate" "BoolVariation" "StringVariation" "GetBooleanValueAsync"
    "GetBooleanValue" "IsFeatureEnabled"))

; Names that a function without a name binds are bound in it alone.
[(lambda_expression) (anonymous_method_expression)] @closure
