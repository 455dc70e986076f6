; JavaScript alone: CommonJS and prototypes, and class fields, decorators and heritage that its grammar names its own way.

; Functions of an object, as `module.exports = {…}` they are functions of the module.
(assignment_expression
  left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
  right: (object [
    (method_definition name: (property_identifier) @name)
    (pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
  ] @definition.function)
  (#eq? @_module "module") (#eq? @_exports "exports"))

; exports.name = …, module.exports.name = …, module.exports = function
((assignment_expression
  left: (member_expression object: (_) @_exports property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.function
  (#match? @_exports "^(module\\.)?exports$"))
((assignment_expression
  left: (member_expression object: (_) @_exports property: (property_identifier) @name)
  right: (class body: (_) @body)) @definition.class
  (#match? @_exports "^(module\\.)?exports$"))
((program (expression_statement (assignment_expression
  left: (member_expression object: (_) @_exports property: (property_identifier) @name)
  right: [(object) (array) (string) (template_string) (number) (regex) (call_expression) (new_expression) (true) (false)]) @definition.constant))
  (#match? @_exports "^(module\\.)?exports$") (#match? @name "^_*[A-Z][A-Z0-9_]*$"))
((program (expression_statement (assignment_expression
  left: (member_expression object: (_) @_exports property: (property_identifier) @name)
  right: [(object) (array) (string) (template_string) (number) (regex) (call_expression) (new_expression) (true) (false)]) @definition.variable))
  (#match? @_exports "^(module\\.)?exports$"))
((assignment_expression
  left: (member_expression object: (identifier) @_module property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression !name body: (_) @body)]) @definition.function
  (#eq? @_module "module") (#eq? @name "exports"))
((assignment_expression
  left: (member_expression object: (identifier) @_module property: (property_identifier) @name)
  right: (class !name body: (_) @body)) @definition.class
  (#eq? @_module "module") (#eq? @name "exports"))
((assignment_expression
  left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
  right: [(function_expression name: (identifier) @name) @definition.function (class name: (_) @name) @definition.class])
  (#eq? @_module "module") (#eq? @_exports "exports"))

; Foo.prototype.bar = function, Foo.bar = function, this.bar = function
((assignment_expression
  left: (member_expression
    object: (member_expression object: (_) @container property: (property_identifier) @_prototype)
    property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.method
  (#eq? @_prototype "prototype"))
(assignment_expression
  left: (member_expression object: (this) property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.method
((assignment_expression
  left: (member_expression object: (_) @name property: (property_identifier) @_prototype)
  right: (object)) @scope
  (#eq? @_prototype "prototype"))
((assignment_expression left: [(identifier) (member_expression)] @name right: (object)) @scope
  (#not-match? @name "^(module\\.exports|exports|.*\\.prototype)$"))

; name = function
(assignment_expression left: (identifier) @name right: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.function

; Classes

(field_definition property: [(property_identifier) (private_property_identifier)] @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
(class_declaration decorator: (decorator) @decorator name: (identifier) @name) @definition
(method_definition decorator: (decorator) @decorator name: (_) @name) @definition

(class_heritage [
  (identifier) @reference.extends
  (member_expression object: (_) @receiver property: (property_identifier) @reference.extends)])
(field_definition value: (identifier) @reference.use)

; Bindings

(formal_parameters (identifier) @binding.name)
(field_definition property: [(property_identifier) (private_property_identifier)] @binding.name value: (_) @binding.value)
((assignment_expression
  left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports) @binding.name
  right: [(identifier) (member_expression) (call_expression) (new_expression)] @binding.value)
  (#eq? @_module "module") (#eq? @_exports "exports"))
