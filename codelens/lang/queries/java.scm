; Definitions

(package_declaration [(identifier) (scoped_identifier)] @namespace)
(module_declaration name: (_) @name) @definition.module
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(compact_constructor_declaration name: (identifier) @name) @definition.method
(annotation_type_element_declaration name: (identifier) @name) @definition.method

; Java's constants are static fields in capitals, and all fields of an interface.
((field_declaration
  (modifiers "static" "final") declarator: (variable_declarator name: (identifier) @name)) @definition.constant
  (#match? @name "^_*[A-Z][A-Z0-9_]*$"))
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.constant

([
  (class_declaration (modifiers [(marker_annotation) (annotation)] @decorator) name: (identifier) @name)
  (record_declaration (modifiers [(marker_annotation) (annotation)] @decorator) name: (identifier) @name)
  (interface_declaration (modifiers [(marker_annotation) (annotation)] @decorator) name: (identifier) @name)
  (annotation_type_declaration (modifiers [(marker_annotation) (annotation)] @decorator) name: (identifier) @name)
  (enum_declaration (modifiers [(marker_annotation) (annotation)] @decorator) name: (identifier) @name)
  (method_declaration (modifiers [(marker_annotation) (annotation)] @decorator) name: (identifier) @name)
  (constructor_declaration (modifiers [(marker_annotation) (annotation)] @decorator) name: (identifier) @name)
  (field_declaration
    (modifiers [(marker_annotation) (annotation)] @decorator) declarator: (variable_declarator name: (identifier) @name))
] @definition)

; What an anonymous class or a constant with a body holds belongs to its type, or to the constant.
(object_creation_expression type: [
  (type_identifier) @name
  (generic_type (type_identifier) @name)
  (scoped_type_identifier (type_identifier) @name .)
  (generic_type (scoped_type_identifier (type_identifier) @name .))] (class_body)) @scope
(enum_constant name: (identifier) @name body: (class_body)) @scope

; References: every name in a type, but for type parameters, `var` and the parts of a package.

(type_identifier) @reference.type
(scoped_type_identifier (_) @receiver . (type_identifier) @reference.type .)
(type_parameter (type_identifier) @name) @definition
((local_variable_declaration type: (type_identifier) @name) @definition (#eq? @name "var"))
((scoped_type_identifier (type_identifier) @name) @definition (#match? @name "^[a-z]"))

(superclass [
  (type_identifier) @reference.extends
  (generic_type (type_identifier) @reference.extends)
  (scoped_type_identifier (_) @receiver . (type_identifier) @reference.extends .)
  (generic_type (scoped_type_identifier (_) @receiver . (type_identifier) @reference.extends .))])
(extends_interfaces (type_list [
  (type_identifier) @reference.extends
  (generic_type (type_identifier) @reference.extends)
  (scoped_type_identifier (_) @receiver . (type_identifier) @reference.extends .)
  (generic_type (scoped_type_identifier (_) @receiver . (type_identifier) @reference.extends .))]))
(super_interfaces (type_list [
  (type_identifier) @reference.implements
  (generic_type (type_identifier) @reference.implements)
  (scoped_type_identifier (_) @receiver . (type_identifier) @reference.implements .)
  (generic_type (scoped_type_identifier (_) @receiver . (type_identifier) @reference.implements .))]))

(method_invocation !object name: (identifier) @reference.call)
(method_invocation object: (_) @receiver name: (identifier) @reference.call)
(object_creation_expression type: [
  (type_identifier) @reference.construct
  (generic_type (type_identifier) @reference.construct)
  (scoped_type_identifier (_) @receiver . (type_identifier) @reference.construct .)
  (generic_type (scoped_type_identifier (_) @receiver . (type_identifier) @reference.construct .))])
(throw_statement [
  (identifier) @reference.throw
  (object_creation_expression type: (type_identifier) @reference.throw)
  (object_creation_expression type: (scoped_type_identifier (_) @receiver . (type_identifier) @reference.throw .))])
(marker_annotation name: [
  (identifier) @reference.decorate
  (scoped_identifier scope: (_) @receiver name: (identifier) @reference.decorate)])
(annotation name: [
  (identifier) @reference.decorate
  (scoped_identifier scope: (_) @receiver name: (identifier) @reference.decorate)])
(field_access object: (_) @receiver field: (identifier) @reference.field)

; Foo::bar uses bar, Foo::new builds a Foo.
(method_reference (_) @receiver (identifier) @reference.use .)
(method_reference . (identifier) @reference.construct "new")
(argument_list [
  (identifier) @reference.use
  (field_access object: (_) @receiver field: (identifier) @reference.use)])
(assignment_expression right: [
  (identifier) @reference.use
  (field_access object: (_) @receiver field: (identifier) @reference.use)])
(variable_declarator value: [
  (identifier) @reference.use
  (field_access object: (_) @receiver field: (identifier) @reference.use)])
(return_statement [
  (identifier) @reference.use
  (field_access object: (_) @receiver field: (identifier) @reference.use)])
(array_initializer (identifier) @reference.use)
(element_value_pair value: [
  (identifier) @reference.use
  (field_access object: (_) @receiver field: (identifier) @reference.use)])
(annotation_argument_list (field_access object: (_) @receiver field: (identifier) @reference.use))
(annotation_argument_list (identifier) @reference.use)

; Imports

(import_declaration (scoped_identifier scope: (_) @import.module name: (identifier) @import.name) .)
(import_declaration (_) @import.module (asterisk) @import.name)
(import_declaration (identifier) @import.name .)
(requires_module_directive module: (_) @import.module)

; Bindings

; Names that a function without a name binds are bound in it alone.
(lambda_expression) @closure

(formal_parameter type: (_) @binding.type name: (identifier) @binding.name)
(spread_parameter (variable_declarator name: (identifier) @binding.name))
(local_variable_declaration type: (_) @binding.type declarator: (variable_declarator name: (identifier) @binding.name)
  (#not-eq? @binding.type "var"))
(local_variable_declaration declarator: (variable_declarator name: (identifier) @binding.name value: (_) @binding.value))
(field_declaration type: (_) @binding.type declarator: (variable_declarator name: (identifier) @binding.name))
(constant_declaration type: (_) @binding.type declarator: (variable_declarator name: (identifier) @binding.name))
(enum_declaration name: (identifier) @binding.type body: (enum_body (enum_constant name: (identifier) @binding.name)))
(enhanced_for_statement type: (_) @binding.type name: (identifier) @binding.name (#not-eq? @binding.type "var"))
(enhanced_for_statement type: (_) @_var name: (identifier) @binding.name value: (_) @binding.element (#eq? @_var "var"))
(catch_formal_parameter (catch_type . (_) @binding.type) name: (identifier) @binding.name)
(resource type: (_) @binding.type name: (identifier) @binding.name (#not-eq? @binding.type "var"))
(resource type: (_) @_var name: (identifier) @binding.name value: (_) @binding.value (#eq? @_var "var"))
(instanceof_expression right: (_) @binding.type name: (identifier) @binding.name)
(type_pattern . (_) @binding.type . (identifier) @binding.name)
(record_pattern_component (identifier) @binding.name)
(record_pattern_component . (_) @binding.type . (identifier) @binding.name (#not-eq? @binding.type "var"))
((method_declaration type: (_) @binding.return) (#not-eq? @binding.return "void"))
(inferred_parameters (identifier) @binding.name)
(lambda_expression parameters: (identifier) @binding.name)

; What literals name

((method_invocation object: (identifier) @_system name: (identifier) @_getenv
  arguments: (argument_list . (string_literal . (string_fragment) @reference.env .)))
  (#eq? @_system "System") (#eq? @_getenv "getenv"))
((method_invocation
  object: (method_invocation object: (identifier) @_system name: (identifier) @_getenv) name: (identifier) @_get
  arguments: (argument_list . (string_literal . (string_fragment) @reference.env .)))
  (#eq? @_system "System") (#eq? @_getenv "getenv") (#any-of? @_get "get" "getOrDefault" "containsKey"))

((object_creation_expression type: (type_identifier) @_builder arguments: (argument_list . [
    (string_literal . (string_fragment) @reference.process)
    (method_invocation arguments: (argument_list . (string_literal . (string_fragment) @reference.process)))
    (array_creation_expression value: (array_initializer . (string_literal . (string_fragment) @reference.process)))]))
  (#eq? @_builder "ProcessBuilder"))
((method_invocation object: (_) @_runtime name: (identifier) @_exec arguments: (argument_list . [
    (string_literal . (string_fragment) @reference.process)
    (array_creation_expression value: (array_initializer . (string_literal . (string_fragment) @reference.process)))]))
  (#match? @_runtime "[rR]untime(\\(\\))?$") (#eq? @_exec "exec"))

((annotation name: (identifier) @receiver arguments: (annotation_argument_list [
    (string_literal . (string_fragment) @reference.route .)
    (element_value_array_initializer (string_literal . (string_fragment) @reference.route .))
    (element_value_pair key: (identifier) @_key value: [
      (string_literal . (string_fragment) @reference.route .)
      (element_value_array_initializer (string_literal . (string_fragment) @reference.route .))])]))
  (#any-of? @receiver "RequestMapping" "GetMapping" "PostMapping" "PutMapping" "DeleteMapping" "PatchMapping" "Path"
    "Controller" "Get" "Post" "Put" "Delete" "Patch" "WebServlet" "ServerEndpoint" "MessageMapping")
  (#any-of? @_key "value" "path" "uri" "urlPatterns"))
((method_invocation name: (identifier) @receiver arguments: (argument_list
    . (string_literal . (string_fragment) @reference.route .)
    . [(lambda_expression) (method_reference) (object_creation_expression)]))
  (#any-of? @receiver "get" "post" "put" "delete" "patch" "head" "options" "path" "before" "after" "webSocket" "route")
  (#match? @reference.route "^/"))

; Retrofit's and Feign's annotations are a client's.
((annotation name: (identifier) @receiver
  arguments: (annotation_argument_list . (string_literal . (string_fragment) @reference.endpoint .) .))
  (#any-of? @receiver "GET" "POST" "PUT" "DELETE" "PATCH" "HEAD" "RequestLine"))
((method_invocation name: (identifier) @receiver
  arguments: (argument_list . (string_literal . (string_fragment) @reference.endpoint .)))
  (#any-of? @receiver "getForObject" "getForEntity" "postForObject" "postForEntity" "postForLocation" "patchForObject" "exchange"
    "uri" "url")
  (#match? @reference.endpoint "^(https?:/)?/"))
((method_invocation object: (identifier) @_uri name: (identifier) @receiver
  arguments: (argument_list . (string_literal . (string_fragment) @reference.endpoint .) .))
  (#eq? @_uri "URI") (#eq? @receiver "create") (#match? @reference.endpoint "^https?://"))
((method_invocation name: (identifier) @_perform arguments: (argument_list (method_invocation !object
  name: (identifier) @receiver arguments: (argument_list . (string_literal . (string_fragment) @reference.endpoint .)))))
  (#eq? @_perform "perform") (#any-of? @receiver "get" "post" "put" "delete" "patch" "head" "options"))

((method_invocation name: (identifier) @_asks
  arguments: (argument_list . (string_literal . (string_fragment) @reference.flag .)))
  (#any-of? @_asks "isEnabled" "isFeatureEnabled" "featureEnabled" "boolVariation" "stringVariation" "intVariation"
    "variation" "getBooleanValue" "getTreatment"))
