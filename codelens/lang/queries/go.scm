; Definitions. A type or a constant that stands alone is its whole declaration; in a group, `type ( … )`, it is one line of it.

(function_declaration name: (identifier) @name) @definition.function

; func (p *Point) Move(), also with type parameters: the receiver's type is the container.
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @container
    (pointer_type (type_identifier) @container)
    (generic_type type: (type_identifier) @container)
    (pointer_type (generic_type type: (type_identifier) @container))]))
  name: (field_identifier) @name) @definition.function
(type_spec type: (interface_type (method_elem name: (field_identifier) @name) @definition.method))

((type_declaration (type_spec
  name: (type_identifier) @name
  type: (struct_type (field_declaration_list) @body))) @definition.struct
  (#not-match? @definition.struct "^type\\s*\\("))
((type_declaration (type_spec
  name: (type_identifier) @name
  type: (interface_type "{" @body))) @definition.interface
  (#not-match? @definition.interface "^type\\s*\\("))
((type_declaration [
  (type_spec name: (type_identifier) @name)
  (type_alias name: (type_identifier) @name)]) @definition.type
  (#not-match? @definition.type "^type\\s*\\("))

((type_declaration (type_spec
  name: (type_identifier) @name
  type: (struct_type (field_declaration_list) @body)) @definition.struct) @_group
  (#match? @_group "^type\\s*\\("))
((type_declaration (type_spec
  name: (type_identifier) @name
  type: (interface_type "{" @body)) @definition.interface) @_group
  (#match? @_group "^type\\s*\\("))
((type_declaration [
  (type_spec name: (type_identifier) @name)
  (type_alias name: (type_identifier) @name)] @definition.type) @_group
  (#match? @_group "^type\\s*\\("))

(source_file (const_declaration (const_spec (identifier) @name)) @definition.constant
  (#not-eq? @name "_") (#not-match? @definition.constant "^const\\s*\\("))
(source_file (const_declaration (const_spec (identifier) @name (#not-eq? @name "_")) @definition.constant) @_group
  (#match? @_group "^const\\s*\\("))
(source_file (var_declaration (var_spec name: (identifier) @name (#not-eq? @name "_"))) @definition.variable)
(source_file (var_declaration (var_spec_list
  (var_spec name: (identifier) @name (#not-eq? @name "_")) @definition.variable)))

(package_clause (package_identifier) @namespace)

; References

(call_expression function: (identifier) @reference.call)
(call_expression function: (selector_expression operand: (_) @receiver field: (field_identifier) @reference.call))
(call_expression function: (parenthesized_expression (identifier) @reference.call))
(type_conversion_expression type: (generic_type type: (type_identifier) @reference.call))

(composite_literal type: [
  (type_identifier) @reference.construct
  (qualified_type package: (_) @receiver name: (type_identifier) @reference.construct)
  (generic_type type: (type_identifier) @reference.construct)
  (generic_type type: (qualified_type package: (_) @receiver name: (type_identifier) @reference.construct))
  (slice_type element: (type_identifier) @reference.construct)
  (array_type element: (type_identifier) @reference.construct)
  (map_type value: (type_identifier) @reference.construct)])
((call_expression
  function: (identifier) @_new
  arguments: (argument_list . [
    (type_identifier) @reference.construct
    (qualified_type package: (_) @receiver name: (type_identifier) @reference.construct)]))
  (#eq? @_new "new"))

; What a struct embeds, and what an interface takes over.
(field_declaration !name type: [
  (type_identifier) @reference.extends
  (qualified_type package: (_) @receiver name: (type_identifier) @reference.extends)
  (generic_type type: (type_identifier) @reference.extends)
  (generic_type type: (qualified_type package: (_) @receiver name: (type_identifier) @reference.extends))])
(interface_type (type_elem . [
  (type_identifier) @reference.extends
  (qualified_type package: (_) @receiver name: (type_identifier) @reference.extends)
  (generic_type type: (type_identifier) @reference.extends)] .))

((type_identifier) @reference.type
  (#not-match? @reference.type
    "^(any|bool|byte|comparable|complex(64|128)|error|float(32|64)|rune|string|uintptr|u?int(8|16|32|64)?)$"))
(qualified_type package: (_) @receiver name: (type_identifier) @reference.type)

(argument_list (identifier) @reference.use)
(argument_list (selector_expression operand: (identifier) @receiver field: (field_identifier) @reference.use))
(literal_value (literal_element (identifier) @reference.use))
(literal_value (literal_element
  (selector_expression operand: (identifier) @receiver field: (field_identifier) @reference.use)))
(keyed_element value: (literal_element (identifier) @reference.use))
(keyed_element value: (literal_element
  (selector_expression operand: (identifier) @receiver field: (field_identifier) @reference.use)))
(return_statement (expression_list (identifier) @reference.use))
(assignment_statement right: (expression_list (identifier) @reference.use))
(short_var_declaration right: (expression_list (identifier) @reference.use))
(var_spec value: (expression_list (identifier) @reference.use))

(selector_expression operand: (_) @receiver field: (field_identifier) @reference.field)

; Imports

(import_spec name: (_)? @import.alias path: (_) @import.module)

; Bindings

; Names that a function without a name binds are bound in it alone.
(func_literal) @closure

(parameter_declaration name: (identifier) @binding.name type: (_) @binding.type)
(variadic_parameter_declaration name: (identifier) @binding.name)
(var_spec name: (identifier) @binding.name type: (_) @binding.type)
(var_spec . name: (identifier) @binding.name value: (expression_list . (_) @binding.value))
(var_spec name: (identifier) . name: (identifier) @binding.name value: (expression_list (_) . (_) @binding.value))
(var_spec name: (identifier) @binding.name !type)
(const_spec name: (identifier) @binding.name type: (_) @binding.type)
(const_spec . name: (identifier) @binding.name value: (expression_list . (_) @binding.value))
(const_spec name: (identifier) . name: (identifier) @binding.name value: (expression_list (_) . (_) @binding.value))
(type_alias name: (type_identifier) @binding.name type: (_) @binding.value)
(type_spec name: (type_identifier) @binding.name type: [(slice_type) (array_type) (map_type) (channel_type)] @binding.type)
(short_var_declaration left: (expression_list . (identifier) @binding.name) right: (expression_list . (_) @binding.value))
(short_var_declaration left: (expression_list (_) . (identifier) @binding.name) right: (expression_list (_) . (_) @binding.value))
(short_var_declaration left: (expression_list (identifier) @binding.name))
(assignment_statement left: (expression_list . (identifier) @binding.name) right: (expression_list . (_) @binding.value))
((short_var_declaration
  left: (expression_list . (identifier) @binding.name)
  right: (expression_list . (call_expression
    function: (identifier) @_new arguments: (argument_list . (_) @binding.type))))
  (#any-of? @_new "new" "make"))
(range_clause left: (expression_list (identifier) @binding.name))
(range_clause left: (expression_list (identifier) . (identifier) @binding.name) right: (_) @binding.element)
(receive_statement left: (expression_list (identifier) @binding.name))
(type_switch_statement alias: (expression_list (identifier) @binding.name))
(field_declaration name: (field_identifier) @binding.name type: (_) @binding.type)
(function_declaration result: (_) @binding.return)
(method_declaration result: (_) @binding.return)
(method_elem result: (_) @binding.return)

(function_type parameters: (_) @prototype)
(function_type result: (parameter_list) @prototype)
(method_elem parameters: (_) @prototype)
(method_elem result: (parameter_list) @prototype)
; What literals name

((call_expression
  function: (selector_expression operand: (identifier) @_os field: (field_identifier) @_get)
  arguments: (argument_list . [
    (interpreted_string_literal . (interpreted_string_literal_content) @reference.env .)
    (raw_string_literal (raw_string_literal_content) @reference.env)]))
  (#any-of? @_os "os" "syscall") (#any-of? @_get "Getenv" "LookupEnv"))

((call_expression
  function: (selector_expression operand: (identifier) @_exec field: (field_identifier) @_command)
  arguments: (argument_list . (interpreted_string_literal . (interpreted_string_literal_content) @reference.process .)))
  (#eq? @_exec "exec") (#eq? @_command "Command"))
((call_expression
  function: (selector_expression operand: (identifier) @_exec field: (field_identifier) @_command)
  arguments: (argument_list . (_) . (interpreted_string_literal . (interpreted_string_literal_content) @reference.process .)))
  (#eq? @_exec "exec") (#eq? @_command "CommandContext"))

((call_expression
  function: (selector_expression operand: (_) @_router field: (field_identifier) @receiver)
  arguments: (argument_list
    . [
      (interpreted_string_literal . (interpreted_string_literal_content) @reference.route .)
      (raw_string_literal (raw_string_literal_content) @reference.route)]
    . [(identifier) (selector_expression) (func_literal) (call_expression) (unary_expression) (composite_literal)]))
  (#any-of? @receiver "HandleFunc" "Handle" "GET" "POST" "PUT" "DELETE" "PATCH" "HEAD" "OPTIONS" "Any" "Get" "Post" "Put"
    "Delete" "Patch" "Head" "Options" "All" "Mount")
  (#not-match? @_router "[cC]lient|[cC]ache|[sS]tore")
  (#match? @reference.route "^([A-Z]+ )?/"))
((call_expression
  function: (selector_expression field: (field_identifier) @_add)
  arguments: (argument_list
    . (_) @receiver . (interpreted_string_literal . (interpreted_string_literal_content) @reference.route .) . (_)))
  (#any-of? @_add "Handle" "Handler" "HandlerFunc" "Method" "MethodFunc" "Add") (#match? @receiver "^\"[A-Z]+\"$|\\.Method[A-Z]")
  (#match? @reference.route "^/"))

((call_expression
  function: (selector_expression operand: (_) @_client field: (field_identifier) @receiver)
  arguments: (argument_list . (interpreted_string_literal . (interpreted_string_literal_content) @reference.endpoint .)))
  (#match? @_client "^http$|[cC]lient$|\\bR\\(\\)$")
  (#any-of? @receiver "Get" "Head" "Post" "PostForm" "Put" "Delete" "Patch") (#match? @reference.endpoint "^(https?:/)?/"))
((call_expression
  function: (selector_expression operand: (_) @_http field: (field_identifier) @_request)
  arguments: (argument_list
    (_) @receiver . (interpreted_string_literal . (interpreted_string_literal_content) @reference.endpoint .)))
  (#any-of? @_http "http" "httptest") (#any-of? @_request "NewRequest" "NewRequestWithContext")
  (#match? @reference.endpoint "^(https?:/)?/"))

((call_expression
  function: (selector_expression field: (field_identifier) @_asks)
  arguments: (argument_list . (interpreted_string_literal . (interpreted_string_literal_content) @reference.flag .)))
  (#any-of? @_asks "IsEnabled" "IsFeatureEnabled" "FeatureEnabled" "BoolVariation" "StringVariation" "IntVariation"
    "JSONVariation"))
((call_expression
  function: (selector_expression field: (field_identifier) @_asks)
  arguments: (argument_list . (_) . (interpreted_string_literal . (interpreted_string_literal_content) @reference.flag .)))
  (#any-of? @_asks "BooleanValue" "BooleanValueDetails"))
