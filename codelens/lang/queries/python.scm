; Definitions

(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name) @definition.function
(decorated_definition
  (decorator (_) @decorator)
  definition: (_ name: (identifier) @name)) @definition

; Names in capitals are constants by PEP 8; the first pattern that names a definition decides its kind.
(module (expression_statement
  (assignment left: (identifier) @name (#match? @name "^_*[A-Z][A-Z0-9_]*$")) @definition.constant))
(module (expression_statement (assignment left: (identifier) @name) @definition.variable))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @definition.variable))
(module (if_statement (block (expression_statement (assignment left: (identifier) @name) @definition.variable))))
(module (try_statement (block (expression_statement (assignment left: (identifier) @name) @definition.variable))))
(type_alias_statement left: (type (identifier) @name)) @definition.type

(class_definition body: (block . (expression_statement (string) @doc)))
(function_definition body: (block . (expression_statement (string) @doc)))

; References

(call function: (identifier) @reference.call)
(call function: (attribute object: (_) @receiver attribute: (identifier) @reference.call))
(class_definition superclasses: (argument_list [
  (identifier) @reference.extends
  (attribute object: (_) @receiver attribute: (identifier) @reference.extends)
  (subscript value: (identifier) @reference.extends)
  (subscript value: (attribute object: (_) @receiver attribute: (identifier) @reference.extends))]))
(decorator [
  (identifier) @reference.decorate
  (attribute object: (_) @receiver attribute: (identifier) @reference.decorate)
  (call function: (identifier) @reference.decorate)
  (call function: (attribute object: (_) @receiver attribute: (identifier) @reference.decorate))])
(raise_statement [
  (identifier) @reference.throw
  (attribute object: (_) @receiver attribute: (identifier) @reference.throw)
  (call function: (identifier) @reference.throw)
  (call function: (attribute object: (_) @receiver attribute: (identifier) @reference.throw))])
(type (identifier) @reference.type)
(type (attribute object: (_) @receiver attribute: (identifier) @reference.type))
(type (generic_type (identifier) @reference.type))
(type (subscript value: (identifier) @reference.type))
(type (binary_operator (identifier) @reference.type))
(argument_list (identifier) @reference.use)
(argument_list (attribute object: (_) @receiver attribute: (identifier) @reference.use))
(keyword_argument value: (identifier) @reference.use)
(keyword_argument value: (attribute object: (_) @receiver attribute: (identifier) @reference.use))
(assignment right: (identifier) @reference.use)
(return_statement (identifier) @reference.use)
(pair value: (identifier) @reference.use)
(list (identifier) @reference.use)
(attribute object: (identifier) @receiver attribute: (identifier) @reference.field (#eq? @receiver "self"))

; Imports

(import_statement name: (dotted_name) @import.module)
(import_statement name: (aliased_import name: (dotted_name) @import.module alias: (identifier) @import.alias))
(import_from_statement module_name: (_) @import.module name: (dotted_name) @import.name)
(import_from_statement module_name: (_) @import.module
  name: (aliased_import name: (dotted_name) @import.name alias: (identifier) @import.alias))
(import_from_statement module_name: (_) @import.module (wildcard_import) @import.name)
(future_import_statement name: (dotted_name) @import.name)

; Bindings

; Names that a function without a name binds are bound in it alone.
(lambda) @closure

(typed_parameter . [
  (identifier) @binding.name
  (list_splat_pattern (identifier) @binding.name)
  (dictionary_splat_pattern (identifier) @binding.name)])
(typed_parameter . (identifier) @binding.name type: (_) @binding.type)
(typed_default_parameter name: (identifier) @binding.name type: (_) @binding.type)
(default_parameter name: (identifier) @binding.name value: (_) @binding.value)
((parameters (identifier) @binding.name) (#not-match? @binding.name "^(self|cls)$"))
(parameters [
  (list_splat_pattern (identifier) @binding.name)
  (dictionary_splat_pattern (identifier) @binding.name)])
(lambda_parameters [
  (identifier) @binding.name
  (list_splat_pattern (identifier) @binding.name)
  (dictionary_splat_pattern (identifier) @binding.name)])

(assignment left: (identifier) @binding.name type: (_) @binding.type)
(assignment left: (attribute) @binding.name type: (_) @binding.type)
(assignment left: (identifier) @binding.name right: (_) @binding.value)
(assignment left: (attribute object: (identifier) @_self) @binding.name right: (_) @binding.value
  (#any-of? @_self "self" "cls"))
((assignment left: (identifier) @binding.name
  right: (call function: (_) @_cast arguments: (argument_list . (_) @binding.type)))
  (#match? @_cast "^(\\w+\\.)?cast$"))
((assert_statement (call
  function: (identifier) @_isinstance arguments: (argument_list . (identifier) @binding.name . (_) @binding.type)))
  (#eq? @_isinstance "isinstance"))
(named_expression name: (identifier) @binding.name value: (_) @binding.value)

; Of names that are set together only that each is set is said.
(pattern_list [(identifier) @binding.name (list_splat_pattern (identifier) @binding.name)])
(tuple_pattern [(identifier) @binding.name (list_splat_pattern (identifier) @binding.name)])
(list_pattern [(identifier) @binding.name (list_splat_pattern (identifier) @binding.name)])

(for_statement left: (identifier) @binding.name right: (_) @binding.element)
(for_in_clause left: (identifier) @binding.name right: (_) @binding.element)
(with_item (as_pattern . (_) @binding.value alias: (as_pattern_target (identifier) @binding.name)))
(with_item (as_pattern alias: (as_pattern_target (tuple (identifier) @binding.name))))
(except_clause (as_pattern . (_) @binding.type alias: (as_pattern_target (identifier) @binding.name)))
(case_pattern (dotted_name . (identifier) @binding.name .))
(case_pattern (splat_pattern (identifier) @binding.name))
(case_pattern (as_pattern (identifier) @binding.name))
(case_pattern (as_pattern . (case_pattern (class_pattern . (dotted_name) @binding.type)) (identifier) @binding.name))

(function_definition return_type: (_) @binding.return)
(return_statement [
  (call) @binding.result
  (identifier) @binding.result
  (attribute) @binding.result
  (await [(call) (identifier) (attribute)] @binding.result)])
(return_statement [(call) (identifier) (attribute)] @binding.result)
(yield [(call) (identifier) (attribute)] @binding.yield)

; What literals name

; A bare `environ` is WSGI's, as a rule.
((subscript
  value: (attribute) @_environ
  subscript: (string . (string_start) . (string_content) @reference.env . (string_end))) (#eq? @_environ "os.environ"))
((comparison_operator
  . (string . (string_start) . (string_content) @reference.env . (string_end))
  . (attribute) @_environ) (#eq? @_environ "os.environ"))
((call
  function: (attribute
    object: (attribute) @_environ attribute: (identifier) @_get)
  arguments: (argument_list . (string . (string_start) . (string_content) @reference.env . (string_end))))
  (#eq? @_environ "os.environ") (#any-of? @_get "get" "pop" "setdefault"))
((call
  function: [(identifier) @_getenv (attribute attribute: (identifier) @_getenv)]
  arguments: (argument_list . (string . (string_start) . (string_content) @reference.env . (string_end)))) (#eq? @_getenv "getenv"))

((call
  function: [
    (attribute object: [(identifier) @_module (attribute attribute: (identifier) @_module)] attribute: (identifier) @_run)
    (identifier) @_module @_run]
  arguments: (argument_list . [
    (string . (string_start) . (string_content) @reference.process)
    (list . (string . (string_start) . (string_content) @reference.process))]))
  (#any-of? @_module "subprocess" "sp" "os" "asyncio" "Popen" "check_call" "check_output")
  (#any-of? @_run "run" "call" "Popen" "check_call" "check_output" "getoutput" "getstatusoutput" "system" "popen" "execl"
    "execle" "execlp" "execlpe" "execv" "execve" "execvp" "execvpe" "create_subprocess_exec" "create_subprocess_shell"))

((decorator (call
  function: [(identifier) @receiver (attribute attribute: (identifier) @receiver)]
  arguments: (argument_list . (string . (string_start) . (string_content) @reference.route . (string_end)))))
  (#any-of? @receiver "route" "get" "post" "put" "delete" "patch" "head" "options" "websocket" "api_route")
  (#match? @reference.route "^/"))
((call
  function: [(identifier) @receiver (attribute attribute: (identifier) @receiver)]
  arguments: (argument_list
    . (string . (string_start) . (string_content) @reference.route . (string_end)) . [(identifier) (attribute) (call) (string)]))
  (#any-of? @receiver "Route" "WebSocketRoute" "Mount" "add_url_rule" "add_get" "add_post" "add_put" "add_delete" "add_view")
  (#match? @reference.route "^/"))
; Django's have no slash before them.
((call
  function: (identifier) @receiver
  arguments: (argument_list
    . (string . (string_start) . (string_content) @reference.route . (string_end)) . [(identifier) (attribute) (call)]))
  (#any-of? @receiver "path" "re_path" "url"))

((call
  function: (attribute
    object: [(identifier) @_client (attribute attribute: (identifier) @_client)] attribute: (identifier) @receiver)
  arguments: (argument_list . (string . (string_start) . (string_content) @reference.endpoint . (string_end))))
  (#match? @_client "^(requests|httpx|http)$|([Cc]lient|[Ss]ession)$")
  (#any-of? @receiver "get" "post" "put" "delete" "patch" "head" "options")
  (#match? @reference.endpoint "^(https?:/)?/"))
((call
  function: [(identifier) @receiver (attribute attribute: (identifier) @receiver)]
  arguments: (argument_list . (string . (string_start) . (string_content) @reference.endpoint . (string_end))))
  (#eq? @receiver "urlopen") (#match? @reference.endpoint "^https?://"))

((call
  function: [(identifier) @_asks (attribute attribute: (identifier) @_asks)]
  arguments: (argument_list . (string . (string_start) . (string_content) @reference.flag . (string_end))))
  (#any-of? @_asks "is_enabled" "feature_enabled" "is_feature_enabled" "feature_is_enabled" "flag_enabled" "flag_is_active"
    "switch_is_active" "sample_is_active" "variation" "bool_variation" "string_variation" "get_boolean_value" "get_treatment"))
