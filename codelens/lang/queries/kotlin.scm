; Definitions

(package_header (qualified_identifier) @namespace)
(class_declaration "interface" name: (identifier) @name (class_body)? @body) @definition.interface
(class_declaration name: (identifier) @name (enum_class_body) @body) @definition.enum
(class_declaration name: (identifier) @name (class_body)? @body) @definition.class
(object_declaration name: (identifier) @name (class_body)? @body) @definition.class
(companion_object name: (identifier) @name (class_body)? @body) @definition.class
(type_alias type: (identifier) @name) @definition.type

; Below an annotation the grammar (1.1.0) reads `annotation class Name` and `class Name {…}` as infix calls.
((annotated_expression (annotation) @decorator
  (infix_expression . (identifier) @_annotation . (identifier) @_class . (identifier) @name .) @definition.class)
  (#eq? @_annotation "annotation") (#eq? @_class "class"))
((annotated_expression (annotation) @decorator
  (infix_expression . (identifier) @_class . (identifier) @name . (lambda_literal) @body .) @definition.class)
  (#eq? @_class "class"))

; An extension belongs to the type that it extends.
(function_declaration
  [(user_type . (identifier) @container ("." (identifier) @container)*) (nullable_type (user_type . (identifier) @container ("." (identifier) @container)*))] . "." . name: (identifier) @name
  (function_body)? @body) @definition.method
(function_declaration name: (identifier) @name (function_body)? @body) @definition.function
(secondary_constructor "constructor" @name (block)? @body) @definition.method
(property_declaration
  [(user_type . (identifier) @container ("." (identifier) @container)*) (nullable_type (user_type . (identifier) @container ("." (identifier) @container)*))] . "."
  . (variable_declaration . (identifier) @name)) @definition.property
(property_declaration (variable_declaration . (identifier) @name) (getter)) @definition.property
(property_declaration (variable_declaration . (identifier) @name) (property_delegate)) @definition.property

((property_declaration
  (modifiers (property_modifier) @_const) (variable_declaration . (identifier) @name)) @definition.constant
  (#eq? @_const "const"))
((source_file (property_declaration (variable_declaration . (identifier) @name)) @definition.constant)
  (#match? @name "^_*[A-Z][A-Z0-9_]*$"))
(source_file (property_declaration (variable_declaration . (identifier) @name)) @definition.variable)
(source_file (property_declaration
  (multi_variable_declaration (variable_declaration . (identifier) @name))) @definition.variable)

([
  (class_declaration (modifiers (annotation) @decorator) name: (identifier) @name)
  (object_declaration (modifiers (annotation) @decorator) name: (identifier) @name)
  (function_declaration (modifiers (annotation) @decorator) name: (identifier) @name)
  (property_declaration (modifiers (annotation) @decorator) (variable_declaration . (identifier) @name))
  (type_alias (modifiers (annotation) @decorator) type: (identifier) @name)
] @definition)

; What an anonymous object or an enum entry holds belongs to its type, or to the entry; an unnamed companion is its class.
(companion_object !name (class_body)) @scope
(object_literal (delegation_specifiers . (delegation_specifier [
  (user_type (identifier) @name)
  (constructor_invocation (user_type (identifier) @name))])) (class_body)) @scope
(enum_entry . (identifier) @name (class_body)) @scope

; References: every name in a type, but for type parameters and the parts of a package.

(user_type (identifier)? @receiver . (identifier) @reference.type)
(type_parameter (identifier) @name) @definition
((user_type (identifier) @name . (identifier)) @definition (#match? @name "^[a-z]"))
((navigation_expression . (identifier) @reference.type "::" (identifier) @_class) (#eq? @_class "class"))

; A class is called by its brackets, an interface is only named.
(class_declaration "class" (delegation_specifiers (delegation_specifier [
  (user_type (identifier)? @receiver . (identifier) @reference.implements . (type_arguments)? .)
  (explicit_delegation . (user_type (identifier)? @receiver . (identifier) @reference.implements . (type_arguments)? .))])))
(object_declaration (delegation_specifiers (delegation_specifier
  (user_type (identifier)? @receiver . (identifier) @reference.implements . (type_arguments)? .))))
(companion_object (delegation_specifiers (delegation_specifier
  (user_type (identifier)? @receiver . (identifier) @reference.implements . (type_arguments)? .))))
(object_literal (delegation_specifiers (delegation_specifier
  (user_type (identifier)? @receiver . (identifier) @reference.implements . (type_arguments)? .))))
(class_declaration "interface" (delegation_specifiers (delegation_specifier
  (user_type (identifier)? @receiver . (identifier) @reference.extends . (type_arguments)? .))))
(delegation_specifier (constructor_invocation
  (user_type (identifier)? @receiver . (identifier) @reference.extends . (type_arguments)? .)))

((call_expression . (identifier) @reference.construct) (#match? @reference.construct "^[A-Z]"))
((call_expression . (identifier) @reference.call) (#not-match? @reference.call "^[A-Z]"))
((call_expression . (navigation_expression (_) @receiver (identifier) @reference.construct .))
  (#match? @reference.construct "^[A-Z]"))
((call_expression . (navigation_expression (_) @receiver (identifier) @reference.call .))
  (#not-match? @reference.call "^[A-Z]"))
((infix_expression (_) @receiver . (identifier) @reference.call . (_))
  (#not-eq? @receiver "class") (#not-eq? @reference.call "class"))
(throw_expression [
  (identifier) @reference.throw
  (call_expression . (identifier) @reference.throw)
  (call_expression . (navigation_expression (_) @receiver (identifier) @reference.throw .))])
(annotation [
  (user_type (identifier)? @receiver . (identifier) @reference.decorate .)
  (constructor_invocation (user_type (identifier)? @receiver . (identifier) @reference.decorate .))])
(navigation_expression (this_expression) @receiver . (identifier) @reference.field)

(callable_reference (identifier) @reference.use .)
((navigation_expression (_) @receiver "::" (identifier) @reference.use) (#not-eq? @reference.use "class"))
((value_argument (identifier) @reference.use .) (#not-match? @reference.use "^(null|true|false)$"))
(value_argument (navigation_expression (_) @receiver "." (identifier) @reference.use .) .)
((assignment right: (identifier) @reference.use) (#not-match? @reference.use "^(null|true|false)$"))
(assignment right: (navigation_expression (_) @receiver "." (identifier) @reference.use .))
((property_declaration "=" . (identifier) @reference.use) (#not-match? @reference.use "^(null|true|false)$"))
((return_expression (identifier) @reference.use) (#not-match? @reference.use "^(null|true|false)$"))
((function_body "=" . (identifier) @reference.use) (#not-match? @reference.use "^(null|true|false)$"))

; Imports

((import (qualified_identifier . ((identifier) @import.module . ".")+ . (identifier) @import.name .) . (identifier)? @import.alias .) @_import
  (#not-match? @_import "\\*\\s*$"))
(import (qualified_identifier) @import.module "*" @import.name)
((import (qualified_identifier . (identifier) @import.name .) .) @_import (#not-match? @_import "\\*\\s*$"))

; Bindings

(class_parameter (identifier) @binding.name ":" . (_) @binding.type)
(function_value_parameters (parameter . (identifier) @binding.name ":" . (_) @binding.type))
(variable_declaration (identifier) @binding.name ":" . (_) @binding.type)
(property_declaration (variable_declaration . (identifier) @binding.name) "=" . (_) @binding.value)
(property_declaration (variable_declaration . (identifier) @binding.name .) (property_delegate))
((property_declaration
  (variable_declaration . (identifier) @binding.name .)
  (property_delegate (call_expression . (identifier) @_lazy (annotated_lambda (lambda_literal
    [(call_expression) (navigation_expression) (identifier)] @binding.value .)))))
  (#eq? @_lazy "lazy"))
(when_subject (variable_declaration . (identifier) @binding.name) "=" . (_) @binding.value)
(for_statement (variable_declaration . (identifier) @binding.name .) "in" . (_) @binding.element)
(catch_block . (identifier) @binding.name . (_) @binding.type)
(class_declaration name: (identifier) @binding.type (enum_class_body (enum_entry . (identifier) @binding.name)))
(type_alias type: (identifier) @binding.name "=" . (_) @binding.value)
(multi_variable_declaration (variable_declaration . (identifier) @binding.name))
(lambda_parameters (variable_declaration . (identifier) @binding.name .))
(setter (identifier) @binding.name)

(function_declaration (function_value_parameters) . ":" . (_) @binding.return)
(getter ":" . (_) @binding.return)
(function_declaration (function_value_parameters)
  . (function_body "=" . [(call_expression) (navigation_expression) (identifier) (this_expression)] @binding.result))
(getter (function_body "=" . [(call_expression) (navigation_expression) (identifier) (this_expression)] @binding.result))
; What literals name

((call_expression . (navigation_expression (_) @_system (identifier) @_getenv .)
  (value_arguments . (value_argument (string_literal . (string_content) @reference.env .))))
  (#match? @_system "^(java\\.lang\\.)?System$") (#eq? @_getenv "getenv"))
((index_expression . (call_expression . (navigation_expression (_) @_system (identifier) @_getenv .))
  (string_literal . (string_content) @reference.env .))
  (#match? @_system "System$") (#eq? @_getenv "getenv"))

((call_expression . (identifier) @_builder
  (value_arguments . (value_argument [
    (string_literal . (string_content) @reference.process)
    (call_expression (value_arguments . (value_argument (string_literal . (string_content) @reference.process))))])))
  (#eq? @_builder "ProcessBuilder"))
((call_expression . (navigation_expression (_) @_runtime (identifier) @_exec .)
  (value_arguments . (value_argument (string_literal . (string_content) @reference.process))))
  (#match? @_runtime "[rR]untime(\\(\\))?$") (#eq? @_exec "exec"))

((annotation (constructor_invocation (user_type (identifier) @receiver .) (value_arguments (value_argument [
    (string_literal . (string_content) @reference.route .)
    (collection_literal (string_literal . (string_content) @reference.route .))] .) @_argument)))
  (#any-of? @receiver "RequestMapping" "GetMapping" "PostMapping" "PutMapping" "DeleteMapping" "PatchMapping" "Path"
    "Controller" "Get" "Post" "Put" "Delete" "Patch" "MessageMapping")
  (#match? @_argument "^(value|path|uri|)\\s*=?\\s*[\\[\"]"))
; Ktor: get("/x") { … }, javalin: app.get("/x") { … }
((call_expression (call_expression . [(identifier) @receiver (navigation_expression (identifier) @receiver .)]
    (value_arguments . (value_argument (string_literal . (string_content) @reference.route .)) .))
  (annotated_lambda))
  (#any-of? @receiver "get" "post" "put" "delete" "patch" "head" "options" "route" "webSocket") (#match? @reference.route "^/"))

((annotation (constructor_invocation (user_type (identifier) @receiver .)
  (value_arguments . (value_argument (string_literal . (string_content) @reference.endpoint .)) .)))
  (#any-of? @receiver "GET" "POST" "PUT" "DELETE" "PATCH" "HEAD"))
((call_expression . (navigation_expression (_) @_client (identifier) @receiver .)
  (value_arguments . (value_argument (string_literal . (string_content) @reference.endpoint .)) .))
  (#match? @_client "([cC]lient|[rR]estTemplate|[bB]uilder\\(\\)|[aA]pi)$")
  (#any-of? @receiver "get" "post" "put" "delete" "patch" "head" "url" "getForObject" "getForEntity" "postForObject")
  (#match? @reference.endpoint "^(https?:/)?/"))

((call_expression . [(identifier) @_asks (navigation_expression (identifier) @_asks .)]
  (value_arguments . (value_argument (string_literal . (string_content) @reference.flag .))))
  (#any-of? @_asks "isEnabled" "isFeatureEnabled" "featureEnabled" "boolVariation" "stringVariation" "variation"
    "getBooleanValue"))
