; Definitions

(class_declaration name: (name) @name) @definition.class
(class_declaration (attribute_list (attribute_group (attribute) @decorator)) name: (name) @name) @definition
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(enum_declaration (attribute_list (attribute_group (attribute) @decorator)) name: (name) @name) @definition
(enum_case name: (name) @name) @definition.constant
(function_definition name: (name) @name) @definition.function
(function_definition (attribute_list (attribute_group (attribute) @decorator)) name: (name) @name) @definition
(method_declaration name: (name) @name) @definition.method
(method_declaration (attribute_list (attribute_group (attribute) @decorator)) name: (name) @name) @definition
(const_declaration (const_element . (name) @name)) @definition.constant
(function_call_expression function: (name) @_define arguments: (arguments . (argument [(string (string_content) @name) (encapsed_string (string_content) @name)]))
  (#eq? @_define "define")) @definition.constant
(program (expression_statement (assignment_expression left: (variable_name (name) @name)) @definition.variable))
(property_declaration (property_element name: (variable_name (name) @name)) (property_hook_list)) @definition.property

; The methods of a class without a name stand under the name of what it extends or implements.
(anonymous_class (base_clause [(name) @name (qualified_name (name) @name)])) @scope
(anonymous_class . (class_interface_clause . [(name) @name (qualified_name (name) @name)])) @scope
(anonymous_class . (arguments) . (class_interface_clause . [(name) @name (qualified_name (name) @name)])) @scope
(namespace_definition name: (namespace_name) @namespace)

; References

(function_call_expression function: [(name) @reference.call (qualified_name prefix: (_) @receiver (name) @reference.call)])
(function_call_expression function: [(qualified_name . (name) @reference.call) (relative_name (name) @reference.call)])
(member_call_expression object: (_) @receiver name: (name) @reference.call)
(nullsafe_member_call_expression object: (_) @receiver name: (name) @reference.call)
(scoped_call_expression scope: (_) @receiver name: (name) @reference.call)
(object_creation_expression . [
  (name) @reference.construct
  (qualified_name (name) @reference.construct)])
(base_clause [(name) @reference.extends (qualified_name (name) @reference.extends)])
(class_interface_clause [(name) @reference.implements (qualified_name (name) @reference.implements)])
(use_declaration [(name) @reference.implements (qualified_name (name) @reference.implements)])
(attribute . [(name) @reference.decorate (qualified_name (name) @reference.decorate)])
(throw_expression [
  (object_creation_expression . [(name) @reference.throw (qualified_name (name) @reference.throw)])
  (scoped_call_expression scope: [(name) @reference.throw (qualified_name (name) @reference.throw)])])
(named_type [(name) @reference.type (qualified_name (name) @reference.type)])
(binary_expression operator: "instanceof" right: [(name) @reference.type (qualified_name (name) @reference.type)])
(class_constant_access_expression . [(name) @reference.type (qualified_name (name) @reference.type)])
(class_constant_access_expression . (_) @receiver . (name) @reference.use (#not-eq? @reference.use "class"))
(scoped_property_access_expression scope: (_) @receiver name: (variable_name (name) @reference.field))
(member_access_expression object: (_) @receiver name: (name) @reference.field)
(nullsafe_member_access_expression object: (_) @receiver name: (name) @reference.field)

(argument [(name) @reference.use (qualified_name (name) @reference.use)] .)
(return_statement [(name) @reference.use (qualified_name (name) @reference.use)])
(array_element_initializer [(name) @reference.use (qualified_name (name) @reference.use)])
(assignment_expression right: [(name) @reference.use (qualified_name (name) @reference.use)])
(binary_expression left: (name) @reference.use)
(binary_expression operator: ["." "|" "&" "+" "-" "*" "/" "<" ">" "==" "===" "!=" "!==" "??"] right: (name) @reference.use)
(property_element default_value: (name) @reference.use)
(const_element (name) . (name) @reference.use)
; A string that stands where PHP takes a function: array_map('f', …) and [$this, 'method'].
(function_call_expression function: (name) @_taker
  arguments: (arguments (argument (string (string_content) @reference.use)))
  (#any-of? @_taker "array_map" "array_filter" "array_walk" "usort" "uasort" "uksort" "call_user_func" "call_user_func_array"
    "array_reduce" "is_callable" "function_exists" "set_error_handler" "spl_autoload_register" "register_shutdown_function"))
(array_creation_expression
  . (array_element_initializer [(variable_name) (class_constant_access_expression)] @receiver)
  . (array_element_initializer (string (string_content) @reference.use)) .)

; Imports

(namespace_use_declaration (namespace_use_clause . (name) @import.module !alias))
(namespace_use_declaration (namespace_use_clause . (name) @import.module alias: (name) @import.alias))
(namespace_use_clause . (qualified_name . (name) @import.module))
(namespace_use_clause . (qualified_name prefix: (namespace_name) @import.module (name) @import.name) !alias)
(namespace_use_clause . (qualified_name prefix: (namespace_name) @import.module (name) @import.name)
  alias: (name) @import.alias)
(namespace_use_declaration (namespace_name) @import.prefix)
(namespace_use_group (namespace_use_clause . (name) @import.name !alias))
(namespace_use_group (namespace_use_clause . (name) @import.name alias: (name) @import.alias))
([(require_expression (string (string_content) @import.module))
  (require_expression (encapsed_string (string_content) @import.module .))
  (require_expression (binary_expression right: (_ (string_content) @import.module .)))
  (require_expression (parenthesized_expression (_ (string_content) @import.module .)))
  (require_expression (parenthesized_expression (binary_expression right: (_ (string_content) @import.module .))))])
([(require_once_expression (string (string_content) @import.module))
  (require_once_expression (encapsed_string (string_content) @import.module .))
  (require_once_expression (binary_expression right: (_ (string_content) @import.module .)))
  (require_once_expression (parenthesized_expression (_ (string_content) @import.module .)))
  (require_once_expression (parenthesized_expression (binary_expression right: (_ (string_content) @import.module .))))])
([(include_expression (string (string_content) @import.module))
  (include_expression (encapsed_string (string_content) @import.module .))
  (include_expression (binary_expression right: (_ (string_content) @import.module .)))
  (include_expression (parenthesized_expression (_ (string_content) @import.module .)))
  (include_expression (parenthesized_expression (binary_expression right: (_ (string_content) @import.module .))))])
([(include_once_expression (string (string_content) @import.module))
  (include_once_expression (encapsed_string (string_content) @import.module .))
  (include_once_expression (binary_expression right: (_ (string_content) @import.module .)))
  (include_once_expression (parenthesized_expression (_ (string_content) @import.module .)))
  (include_once_expression (parenthesized_expression (binary_expression right: (_ (string_content) @import.module .))))])

; Bindings. A property is named as after `$this->`; one without a type is left to what is assigned to it.

(simple_parameter type: (_) @binding.type name: (variable_name) @binding.name)
(simple_parameter !type name: (variable_name) @binding.name)
(variadic_parameter name: (variable_name) @binding.name)
(property_promotion_parameter type: (_) @binding.type name: (variable_name (name) @binding.member) @binding.name)
(property_declaration type: (_) @binding.type (property_element name: (variable_name (name) @binding.name)))
(assignment_expression left: (variable_name) @binding.name right: (_) @binding.value)
(assignment_expression
  left: (member_access_expression object: (variable_name) @_this) @binding.name
  right: (_) @binding.value (#eq? @_this "$this"))
(augmented_assignment_expression left: (variable_name) @binding.name operator: "??=" right: (_) @binding.value)
(augmented_assignment_expression
  left: (member_access_expression object: (variable_name) @_this) @binding.name operator: "??="
  right: (_) @binding.value (#eq? @_this "$this"))
(static_variable_declaration name: (variable_name) @binding.name value: (_) @binding.value)
(list_literal (variable_name) @binding.name)
(foreach_statement . (_) @binding.element . [
  (variable_name) @binding.name
  (by_ref (variable_name) @binding.name)
  (pair (_) . [(variable_name) @binding.name (by_ref (variable_name) @binding.name)])])
(foreach_statement (pair . (variable_name) @binding.name))
(catch_clause type: (_) @binding.type name: (variable_name) @binding.name)
(enum_declaration name: (name) @binding.type body: (enum_declaration_list (enum_case name: (name) @binding.name)))

[(anonymous_function) (arrow_function)] @closure
(function_definition return_type: (_) @binding.return)
(method_declaration return_type: (_) @binding.return)
(return_statement [
  (variable_name)
  (member_access_expression)
  (member_call_expression)
  (nullsafe_member_call_expression)
  (scoped_call_expression)
  (function_call_expression)
  (object_creation_expression)] @binding.result)
; What literals name

((function_call_expression function: (name) @_get
  arguments: (arguments . (argument (_ . (string_content) @reference.env .))))
  (#any-of? @_get "getenv" "env"))
((subscript_expression . (variable_name) @_env . (_ . (string_content) @reference.env .))
  (#eq? @_env "$_ENV"))

(shell_command_expression . (string_content) @reference.process)
((function_call_expression function: (name) @_run arguments: (arguments . (argument [
    (_ . (string_content) @reference.process)
    (array_creation_expression . (array_element_initializer (string . (string_content) @reference.process)))])))
  (#any-of? @_run "exec" "shell_exec" "system" "passthru" "proc_open" "popen" "pcntl_exec"))
((object_creation_expression . (name) @_process (arguments . (argument (array_creation_expression
  . (array_element_initializer (string . (string_content) @reference.process)))))) (#eq? @_process "Process"))
((scoped_call_expression scope: (name) @_process name: (name) @_run
  arguments: (arguments . (argument (_ . (string_content) @reference.process))))
  (#eq? @_process "Process") (#any-of? @_run "fromShellCommandline" "run" "start"))

((attribute . (name) @receiver
    parameters: (arguments (argument (name)? @_name . (_ . (string_content) @reference.route .))))
  (#any-of? @receiver "Route" "Get" "Post" "Put" "Delete" "Patch") (#eq? @_name "path") (#match? @reference.route "^/"))
([
  (member_call_expression object: (_) @_router name: (name) @receiver
    arguments: (arguments . (argument (_ . (string_content) @reference.route .)) . (argument)))
  (scoped_call_expression scope: (_) @_router name: (name) @receiver
    arguments: (arguments . (argument (_ . (string_content) @reference.route .)) . (argument)))
]
  (#match? @_router "([aA]pp|[rR]outer?|[rR]outes|[gG]roup|[cC]ollector|^\\$r)$")
  (#any-of? @receiver "get" "post" "put" "delete" "patch" "options" "head" "any" "redirect" "view" "group" "resource")
  (#match? @reference.route "^/"))
((member_call_expression object: (_) @_router name: (name) @_map arguments: (arguments
  . (argument (array_creation_expression)) @receiver
  . (argument (_ . (string_content) @reference.route .)) . (argument)))
  (#match? @_router "([aA]pp|[rR]outer?|[gG]roup|[cC]ollector|^\\$r)$") (#any-of? @_map "map" "addRoute" "match")
  (#match? @reference.route "^/"))

((member_call_expression object: (_) @_client name: (name) @receiver
  arguments: (arguments . (argument (_ . (string_content) @reference.endpoint .))))
  (#match? @_client "([cC]lient|[hH]ttp|[gG]uzzle)$")
  (#any-of? @receiver "get" "post" "put" "delete" "patch" "head" "getAsync" "postAsync")
  (#match? @reference.endpoint "^(https?:/)?/"))
((member_call_expression name: (name) @_request arguments: (arguments
  . (argument (string)) @receiver
  . (argument (_ . (string_content) @reference.endpoint .))))
  (#any-of? @_request "request" "createRequest" "createServerRequest" "json") (#match? @receiver "^.[A-Z]+.$")
  (#match? @reference.endpoint "^(https?:/)?/"))
((scoped_call_expression scope: (name) @_http name: (name) @receiver
  arguments: (arguments . (argument (_ . (string_content) @reference.endpoint .))))
  (#eq? @_http "Http") (#any-of? @receiver "get" "post" "put" "delete" "patch" "head"))

([
  (member_call_expression name: (name) @_asks
    arguments: (arguments . (argument (_ . (string_content) @reference.flag .))))
  (scoped_call_expression name: (name) @_asks
    arguments: (arguments . (argument (_ . (string_content) @reference.flag .))))
] (#any-of? @_asks "isEnabled" "isFeatureEnabled" "featureEnabled" "isFeatureActive" "variation" "getBooleanValue"))
