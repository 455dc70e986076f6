; TypeScript on top of ecmascript.scm.

(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(internal_module name: [(identifier) (nested_identifier)] @name) @definition.module
(module name: (_) @name) @definition.module
(function_signature name: (identifier) @name) @definition.function
(method_signature ["get" "set"] name: (property_identifier) @name) @definition.property
(method_signature name: (property_identifier) @name) @definition.method
(abstract_method_signature ["get" "set"] name: (property_identifier) @name) @definition.property
(abstract_method_signature name: (property_identifier) @name) @definition.method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method

(class_declaration decorator: (decorator) @decorator name: (_) @name) @definition
(abstract_class_declaration decorator: (decorator) @decorator name: (_) @name) @definition

; Names of a namespace, and declared ones.
([
  (ambient_declaration (_ (variable_declarator name: (identifier) @name)) @definition.constant)
  (internal_module body: (statement_block (_ (variable_declarator name: (identifier) @name)) @definition.constant))
  (module body: (statement_block (_ (variable_declarator name: (identifier) @name)) @definition.constant))
] (#match? @name "^_*[A-Z][A-Z0-9_]*$"))
[
  (ambient_declaration (_ (variable_declarator name: (identifier) @name)) @definition.variable)
  (ambient_declaration (statement_block (_ (variable_declarator name: (identifier) @name)) @definition.variable))
  (internal_module body: (statement_block (_ (variable_declarator name: (identifier) @name)) @definition.variable))
  (module body: (statement_block (_ (variable_declarator name: (identifier) @name)) @definition.variable))
]

; References: every name in a type, but not those that a type parameter declares.

(type_identifier) @reference.type
(nested_type_identifier module: (_) @receiver name: (type_identifier) @reference.type)
(type_parameter name: (type_identifier) @name) @definition
(infer_type (type_identifier) @name) @definition
(mapped_type_clause name: (type_identifier) @name) @definition
(type_query [
  (identifier) @reference.type
  (member_expression object: (_) @receiver property: (property_identifier) @reference.type)])
(extends_clause value: [
  (identifier) @reference.extends
  (member_expression object: (_) @receiver property: (property_identifier) @reference.extends)])
(extends_type_clause type: [
  (type_identifier) @reference.extends
  (nested_type_identifier module: (_) @receiver name: (type_identifier) @reference.extends)
  (generic_type name: (type_identifier) @reference.extends)
  (generic_type name: (nested_type_identifier module: (_) @receiver name: (type_identifier) @reference.extends))])
(implements_clause [
  (type_identifier) @reference.implements
  (nested_type_identifier module: (_) @receiver name: (type_identifier) @reference.implements)
  (generic_type name: (type_identifier) @reference.implements)
  (generic_type name: (nested_type_identifier module: (_) @receiver name: (type_identifier) @reference.implements))])
(call_expression function: (non_null_expression [
  (identifier) @reference.call
  (member_expression object: (_) @receiver property: (property_identifier) @reference.call)]))
(arguments [(as_expression (identifier) @reference.use) (non_null_expression (identifier) @reference.use)])
(public_field_definition value: (identifier) @reference.use)
(export_statement "=" . (identifier) @reference.use)

; Imports

(import_statement (import_require_clause (identifier) @import.alias source: (string) @import.module))
(import_alias . (identifier) @import.alias . (_) @import.module)

; Bindings

(required_parameter pattern: (identifier) @binding.name type: (type_annotation (_) @binding.type))
(optional_parameter pattern: (identifier) @binding.name type: (type_annotation (_) @binding.type))
(required_parameter pattern: (rest_pattern (identifier) @binding.name) type: (type_annotation (_) @binding.type))
(required_parameter pattern: (identifier) @binding.name !type value: (_) @binding.value)
(required_parameter pattern: (identifier) @binding.name !type)
(optional_parameter pattern: (identifier) @binding.name !type)
(required_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @binding.member)
(optional_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @binding.member)
(variable_declarator name: (identifier) @binding.name type: (type_annotation (_) @binding.type))
(public_field_definition name: [(property_identifier) (private_property_identifier)] @binding.name
  type: (type_annotation (_) @binding.type))
(public_field_definition name: [(property_identifier) (private_property_identifier)] @binding.name value: (_) @binding.value)
(property_signature name: (property_identifier) @binding.name type: (type_annotation (_) @binding.type))
(type_alias_declaration name: (type_identifier) @binding.name value: (_) @binding.value)

(function_declaration return_type: (type_annotation (_) @binding.return))
(function_expression return_type: (type_annotation (_) @binding.return))
(function_signature return_type: (type_annotation (_) @binding.return))
(method_definition return_type: (type_annotation (_) @binding.return))
(method_signature return_type: (type_annotation (_) @binding.return))
(abstract_method_signature return_type: (type_annotation (_) @binding.return))
(arrow_function return_type: (type_annotation (_) @binding.return))
(return_statement (as_expression) @binding.result)

(function_type parameters: (_) @prototype)
(constructor_type parameters: (_) @prototype)
(function_signature parameters: (_) @prototype)
(method_signature parameters: (_) @prototype)
(abstract_method_signature parameters: (_) @prototype)
(call_signature parameters: (_) @prototype)
(construct_signature parameters: (_) @prototype)
