; Definitions

(class_definition name: (identifier) @name body: (_) @body) @definition.class
(mixin_declaration (identifier) @name (class_body) @body) @definition.trait
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(extension_declaration name: (identifier) @name body: (_) @body) @definition.class
(function_signature name: (identifier) @name) @definition.function
(getter_signature name: (identifier) @name) @definition.property
(setter_signature name: (identifier) @name) @definition.property
(constructor_signature name: (identifier) @name) @definition.method
(type_alias . (type_identifier) @name) @definition.type

; References

((identifier) @reference.call . (selector (argument_part)))
(superclass (type_identifier) @reference.extends)
(interfaces (type_identifier) @reference.implements)
(type_identifier) @reference.type

; Imports

(import_specification (configurable_uri (uri (string_literal) @import.module)))
