; Definitions

(class_interface name: (identifier) @name) @definition.class
(class_implementation name: (identifier) @name) @definition.class
(category_interface name: (identifier) @name) @scope
(category_implementation name: (identifier) @name) @scope
(protocol_declaration name: (identifier) @name) @definition.interface
(method_definition selector: (identifier) @name) @definition.method
(method_definition selector: (keyword_selector . (keyword_declarator keyword: (identifier) @name))) @definition.method
(method_declaration selector: (identifier) @name) @definition.method
(method_declaration selector: (keyword_selector . (keyword_declarator keyword: (identifier) @name))) @definition.method
(property_declaration declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)]) @definition.property
(function_definition declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))]) @definition.function
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(ns_enum_specifier name: (type_identifier) @name) @definition.enum
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(type_definition declarator: (type_identifier) @name) @definition.type

; References

(call_expression function: (identifier) @reference.call)
(message_expression receiver: (_) @receiver selector: (identifier) @reference.call)
(message_expression receiver: (_) @receiver
  selector: (keyword_argument_list . (keyword_argument keyword: (identifier) @reference.call)))
(superclass_reference name: (identifier) @reference.extends)
(class_interface (protocol_qualifiers name: (identifier) @reference.implements))
(protocol_declaration (protocol_qualifiers name: (identifier) @reference.extends))
(field_expression argument: (_) @receiver field: (field_identifier) @reference.field)
(type_identifier) @reference.type
(argument_list (identifier) @reference.use)
(keyword_argument argument: (identifier) @reference.use)
(return_statement (identifier) @reference.use)

; Imports

(preproc_import path: (_) @import.module)
(preproc_include path: (_) @import.module)
(category_interface (protocol_qualifiers name: (identifier) @reference.implements))

; Bindings, as in C.

((parameter_declaration type: (_) @binding.type declarator: (_) @binding.declarator)
  (#not-match? @binding.declarator "[(]"))
((declaration type: (_) @binding.type declarator: (_) @binding.declarator)
  (#not-match? @binding.declarator "^[^=]*[(]") (#not-match? @binding.type "typeof"))
(init_declarator declarator: (identifier) @binding.name value: (self) @binding.value)
((field_declaration type: (_) @binding.type declarator: (_) @binding.declarator) (#not-match? @binding.declarator "[(]"))
((property_declaration type: (_) @binding.type declarator: (_) @binding.declarator) (#not-match? @binding.declarator "[(]"))
(keyword_declarator name: (identifier) @binding.name)
(keyword_declarator [(type_identifier) (generic_type_specifier) (primitive_type)] @binding.type . [(abstract_pointer_declarator) ")"] name: (identifier) @binding.name)
(for_in_statement type: (_) @binding.type declarator: (_) @binding.declarator)
(block_declarator declarator: [(identifier) (type_identifier)] @binding.name)
(method_definition [(type_identifier) (generic_type_specifier) (instancetype)] @binding.return)
(method_declaration [(type_identifier) (generic_type_specifier) (instancetype)] @binding.return)
(function_definition type: [(type_identifier) (struct_specifier)] @binding.return)

(declaration declarator: (function_declarator parameters: (_) @prototype))
(declaration declarator: (pointer_declarator declarator: (function_declarator parameters: (_) @prototype)))
(block_declarator parameters: (_) @prototype)
(block_abstract_declarator parameters: (_) @prototype)
