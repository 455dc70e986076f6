; Definitions

(class_declaration declaration_kind: "class" name: (type_identifier) @name) @definition.class
(class_declaration declaration_kind: "actor" name: (type_identifier) @name) @definition.class
(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @definition.struct
(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @definition.enum
(class_declaration declaration_kind: "extension" name: (user_type) @name) @scope
(protocol_declaration name: (type_identifier) @name) @definition.interface
(typealias_declaration name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (type_identifier) @name) @definition.type
(macro_declaration . (modifiers)? . "macro" . (simple_identifier) @name) @definition.macro

; A function's name is its first field of that name, a word or an operator. (Naming it here makes the query take 150 ms
; more to compile.)
(function_declaration) @definition.function
(protocol_function_declaration) @definition.method
(init_declaration "init" @name) @definition.method
(deinit_declaration "deinit" @name) @definition.method
(subscript_declaration "subscript" @name) @definition.method

(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name) computed_value: (computed_property) @body) @definition.property
(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name) (willset_didset_block) @body) @definition.property
(protocol_property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name) (protocol_property_requirements)? @body) @definition.property
((source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.constant)
  (#match? @name "^_*[A-Z][A-Z0-9_]*$"))
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @definition.variable)
(source_file (property_declaration name: (pattern (pattern (simple_identifier) @name))) @definition.variable)

([
  (class_declaration (modifiers (attribute) @decorator) name: (type_identifier) @name)
  (protocol_declaration (modifiers (attribute) @decorator) name: (type_identifier) @name)
  (init_declaration (modifiers (attribute) @decorator) "init" @name)
  (subscript_declaration (modifiers (attribute) @decorator) "subscript" @name)
  (typealias_declaration (modifiers (attribute) @decorator) name: (type_identifier) @name)
  (property_declaration
    (modifiers (attribute) @decorator) name: (pattern bound_identifier: (simple_identifier) @name))
] @definition)
(function_declaration . (modifiers (attribute) @decorator)) @definition
(protocol_function_declaration . (modifiers (attribute) @decorator)) @definition

; References: every name in a type, but for type parameters.

(type_identifier) @reference.type
(user_type (type_identifier) @receiver . (type_identifier) @reference.type)
(type_parameter (type_identifier) @name) @definition
((user_type . (type_identifier) @name . (type_identifier)) @definition (#match? @name "^[a-z]"))

; The first name after a class's colon is its base class, as a rule; the rest are protocols.
(class_declaration declaration_kind: "class" ":" . (inheritance_specifier inherits_from: (user_type
  (type_identifier)? @receiver . (type_identifier) @reference.extends . (type_arguments)? .)))
(class_declaration declaration_kind: "class" "," . (inheritance_specifier inherits_from: (user_type
  (type_identifier)? @receiver . (type_identifier) @reference.implements . (type_arguments)? .)))
(class_declaration declaration_kind: ["struct" "enum" "actor" "extension"] (inheritance_specifier inherits_from: (user_type
  (type_identifier)? @receiver . (type_identifier) @reference.implements . (type_arguments)? .)))
(protocol_declaration (inheritance_specifier inherits_from: (user_type
  (type_identifier)? @receiver . (type_identifier) @reference.extends . (type_arguments)? .)))

; Square brackets are a call to the grammar, too.
((call_expression . (simple_identifier) @reference.construct (call_suffix [(value_arguments . "(") (lambda_literal)]))
  (#match? @reference.construct "^[A-Z]"))
((call_expression . (simple_identifier) @reference.call (call_suffix [(value_arguments . "(") (lambda_literal)]))
  (#not-match? @reference.call "^[A-Z]"))
(call_expression
  . (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.call))
  (call_suffix [(value_arguments . "(") (lambda_literal)]))
(call_expression . (prefix_expression target: (simple_identifier) @reference.call))
(constructor_expression constructed_type: (user_type
  (type_identifier)? @receiver . (type_identifier) @reference.construct . (type_arguments)? .))
(macro_invocation . "#" . (simple_identifier) @reference.call)
(control_transfer_statement (throw_keyword) [
  (simple_identifier) @reference.throw
  (call_expression . (simple_identifier) @reference.throw)
  (call_expression
    . (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.throw)))])
(attribute (user_type (type_identifier)? @receiver . (type_identifier) @reference.decorate .))
(navigation_expression
  target: (self_expression) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.field))

((value_argument value: (simple_identifier) @reference.use) (#not-match? @reference.use "^\\$"))
((value_argument value: (navigation_expression
  target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.use)))
  (#not-eq? @reference.use "self"))
((navigation_expression
  target: (simple_identifier) @reference.type suffix: (navigation_suffix suffix: (simple_identifier) @_self))
  (#eq? @_self "self"))
(value_argument value: (prefix_expression target: (simple_identifier) @reference.use))
(assignment result: [
  (simple_identifier) @reference.use
  (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.use))])
(property_declaration value: [
  (simple_identifier) @reference.use
  (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.use))])
(control_transfer_statement result: [
  (simple_identifier) @reference.use
  (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.use))])
(array_literal element: (simple_identifier) @reference.use)
(dictionary_literal value: (simple_identifier) @reference.use)
(selector_expression [
  (simple_identifier) @reference.use
  (navigation_expression target: (_) @receiver suffix: (navigation_suffix suffix: (simple_identifier) @reference.use))])

; Imports: `import struct A.B` names B of A, `import A.B` a submodule.

(import_declaration (identifier) @import.module)
(import_declaration ["struct" "class" "enum" "protocol" "func" "var" "let" "typealias"]
  (identifier . ((simple_identifier) @import.module . ".")+ . (simple_identifier) @import.name .))

; Bindings

; Names that a function without a name binds are bound in it alone.
(lambda_literal) @closure

(parameter name: (simple_identifier) @binding.name name: (_) @binding.type)
(lambda_parameter name: (simple_identifier) @binding.name)
(lambda_parameter name: (simple_identifier) @binding.name name: (_) @binding.type)
(property_declaration
  name: (pattern bound_identifier: (simple_identifier) @binding.name) . (type_annotation (_) @binding.type))
(property_declaration name: (pattern bound_identifier: (simple_identifier) @binding.name) . value: (_) @binding.value)
(protocol_property_declaration
  name: (pattern bound_identifier: (simple_identifier) @binding.name) . (type_annotation (_) @binding.type))
(if_statement bound_identifier: (_) @binding.name . "=" . condition: (_) @binding.value)
(guard_statement bound_identifier: (_) @binding.name . "=" . condition: (_) @binding.value)
(for_statement
  item: (pattern bound_identifier: (simple_identifier) @binding.name) collection: (_) @binding.element)
(pattern (pattern bound_identifier: (simple_identifier) @binding.name) name: (_) @binding.type)
(pattern bound_identifier: (simple_identifier) @binding.name)
(pattern (pattern (simple_identifier) @binding.name))
(class_declaration name: (type_identifier) @binding.type
  body: (enum_class_body (enum_entry name: (simple_identifier) @binding.name)))
(typealias_declaration name: (type_identifier) @binding.name name: (_) @binding.value)

(function_declaration "->" . (_) @binding.return)
(protocol_function_declaration "->" . (_) @binding.return)
; What literals name

((call_expression
  . (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @_environment))
  (call_suffix (value_arguments . "[" . (value_argument value: (line_string_literal . text: (line_str_text) @reference.env .)))))
  (#eq? @_environment "environment"))
((call_expression
  . (simple_identifier) @_get
  (call_suffix (value_arguments . "(" . (value_argument value: (line_string_literal . text: (line_str_text) @reference.env .)))))
  (#eq? @_get "getenv"))
