; Definitions

(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (dot_index_expression table: (_) @container field: (identifier) @name)) @definition.function
(function_declaration name: (method_index_expression table: (_) @container method: (identifier) @name)) @definition.method
(variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: (function_definition body: (_)? @body)))) @definition.function
(assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @container field: (identifier) @name) .)
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(assignment_statement
  (variable_list . name: (bracket_index_expression table: (_) @container field: (string (string_content) @name)) .)
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(field name: (identifier) @name value: (function_definition body: (_)? @body)) @definition.function
(field name: (string (string_content) @name) value: (function_definition body: (_)? @body)) @definition.function

; Names in capitals are constants by habit; what `require` gives is an import.
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name attribute: (attribute))))
  @definition.constant)
(chunk (variable_declaration (assignment_statement
  (variable_list name: (identifier) @name (#match? @name "^_*[A-Z][A-Z0-9_]+$"))
  (expression_list . value: (_) @_value (#not-match? @_value "^require\\b")))) @definition.constant)
(chunk (variable_declaration (assignment_statement
  (variable_list name: (identifier) @name)
  (expression_list . value: (_) @_value (#not-match? @_value "^require\\b")))) @definition.variable)
(chunk (variable_declaration (variable_list name: (identifier) @name)) @definition.variable)
(chunk (assignment_statement
  (variable_list name: (identifier) @name (#match? @name "^_*[A-Z][A-Z0-9_]+$"))
  (expression_list . value: (_) @_value (#not-match? @_value "^require\\b"))) @definition.constant)
(chunk (assignment_statement
  (variable_list name: (identifier) @name)
  (expression_list . value: (_) @_value (#not-match? @_value "^require\\b"))) @definition.variable)
(chunk (assignment_statement
  (variable_list name: (dot_index_expression table: (_) @container field: (identifier) @name
    (#match? @name "^[A-Z][A-Z0-9_]+$")))) @definition.constant)
; Functions in a table that is a field stand under the field's name.
(assignment_statement
  (variable_list . name: (dot_index_expression) @name .)
  (expression_list . value: (table_constructor))) @scope.namespace

; References

(function_call name: (identifier) @reference.call (#not-eq? @reference.call "require"))
(function_call name: (dot_index_expression table: (_) @receiver field: (identifier) @reference.call))
(function_call name: (method_index_expression table: (_) @receiver method: (identifier) @reference.call))
(function_call name: (identifier) @_setmetatable
  arguments: (arguments (_) . (table_constructor (field name: (identifier) @_index value: (identifier) @reference.extends)))
  (#eq? @_setmetatable "setmetatable") (#eq? @_index "__index"))
(dot_index_expression table: (_) @receiver field: (identifier) @reference.field)

(arguments (identifier) @reference.use (#not-eq? @reference.use "require"))
(expression_list (identifier) @reference.use)
(field value: (identifier) @reference.use)
(binary_expression (identifier) @reference.use)

; Imports

(assignment_statement
  (variable_list . name: [(identifier) @import.alias (dot_index_expression field: (identifier) @import.alias)] .)
  (expression_list . value: (function_call
    name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .)))
  (#eq? @_require "require"))
(assignment_statement
  (variable_list . name: (identifier) @import.alias .)
  (expression_list . value: (dot_index_expression
    table: (function_call
      name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .))
    field: (identifier) @import.name))
  (#eq? @_require "require"))
([
  (chunk (function_call
    name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .)))
  (block (function_call
    name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .)))
  (return_statement (expression_list (function_call
    name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .))))
  (arguments (function_call
    name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .)))
  (field value: (function_call
    name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .)))
  (function_call name: (function_call
    name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .)))
  (function_call name: (dot_index_expression table: (function_call
    name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .))))
  (function_call name: (method_index_expression table: (function_call
    name: (identifier) @_require arguments: (arguments . (string content: (string_content) @import.module) .))))
  (function_call name: (identifier)
    arguments: (arguments . (identifier) @_require . (string content: (string_content) @import.module) .))
 ] (#eq? @_require "require"))

; Bindings. A table with a metatable is taken for an object of that class.

(parameters name: (identifier) @binding.name)
(assignment_statement (variable_list . name: (identifier) @binding.name) (expression_list . value: (_) @binding.value))
(assignment_statement
  (variable_list (_) . name: (identifier) @binding.name)
  (expression_list (_) . value: (_) @binding.value))
(variable_list name: (identifier) @binding.name)
((assignment_statement
  (variable_list . name: (dot_index_expression table: (identifier) @_self) @binding.name)
  (expression_list . value: (_) @binding.value))
  (#eq? @_self "self"))
((assignment_statement
  (variable_list . name: (identifier) @binding.name)
  (expression_list . value: (function_call
    name: (identifier) @_set arguments: (arguments (_) . (identifier) @binding.type .))))
  (#eq? @_set "setmetatable"))
(for_numeric_clause name: (identifier) @binding.name)

(arguments (function_definition) @closure)
(return_statement (expression_list (function_definition) @closure))
(return_statement (expression_list . [
  (identifier) @binding.result
  (function_call) @binding.result
  (dot_index_expression) @binding.result]))
((return_statement (expression_list . (function_call
  name: (identifier) @_set arguments: (arguments (_) . (identifier) @binding.return .))))
  (#eq? @_set "setmetatable"))
; What literals name

((function_call
  name: (dot_index_expression table: (identifier) @_module field: (identifier) @_get)
  arguments: (arguments . (string content: (string_content) @reference.env)))
  (#eq? @_module "os") (#eq? @_get "getenv"))
((function_call
  name: (dot_index_expression table: (identifier) @_module field: (identifier) @_run)
  arguments: (arguments . (string content: (string_content) @reference.process)))
  (#any-of? @_module "os" "io") (#any-of? @_run "execute" "popen"))
