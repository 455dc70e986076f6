; Definitions

(class name: (constant) @name) @definition.class
(class name: (scope_resolution scope: (_)? @container name: (constant) @name)) @definition.class
(module name: (constant) @name) @definition.module
(module name: (scope_resolution scope: (_)? @container name: (constant) @name)) @definition.module

; A class that a call makes takes the constant it is given to.
(assignment left: (constant) @name
  right: (call receiver: (constant) @_maker method: (identifier) @_new block: (_)? @body)
  (#any-of? @_maker "Struct" "Data") (#any-of? @_new "new" "define")) @definition.struct
(assignment left: (constant) @name
  right: (call receiver: (constant) @_maker method: (identifier) @_new block: (_)? @body)
  (#eq? @_maker "Class") (#eq? @_new "new")) @definition.class
(assignment left: (constant) @name
  right: (call receiver: (constant) @_maker method: (identifier) @_new block: (_)? @body)
  (#eq? @_maker "Module") (#eq? @_new "new")) @definition.module
(assignment left: (constant) @name) @definition.constant
(assignment left: (scope_resolution scope: (_) @container name: (constant) @name)) @definition.constant
(assignment left: (left_assignment_list (constant) @name)) @definition.constant
(operator_assignment left: (constant) @name) @definition.constant
(program (assignment left: [(identifier) (global_variable)] @name) @definition.variable)
(program (assignment left: (left_assignment_list [(identifier) (global_variable)] @name)) @definition.variable)
(program (operator_assignment left: [(identifier) (global_variable)] @name) @definition.variable)

(program (method name: (_) @name) @definition.function)
(method name: (_) @name) @definition.method
; Inside a class `def Name.x` names the class once more; only outside it says where the method belongs.
(program (singleton_method object: [(constant) (scope_resolution) (identifier)] @container name: (_) @name) @definition.method)
(singleton_method name: (_) @name) @definition.method
(alias name: (_) @name) @definition.method
(call !receiver method: (identifier) @_macro
  arguments: (argument_list . [(simple_symbol) (string (string_content))] @name)
  block: (_)? @body
  (#any-of? @_macro "define_method" "define_singleton_method" "alias_method")) @definition.method
(call !receiver method: (identifier) @_macro arguments: (argument_list (simple_symbol) @name)
  (#any-of? @_macro "attr_accessor" "attr_reader" "attr_writer" "attr" "cattr_accessor" "cattr_reader" "cattr_writer"
    "mattr_accessor" "mattr_reader" "mattr_writer" "class_attribute" "thread_mattr_accessor")) @definition.property

; References

(call !receiver method: [(identifier) (constant)] @reference.call
  (#not-match? @reference.call "^(require|require_relative|autoload|include|extend|prepend|raise|fail|private|public|protected|module_function|alias_method|define_method|attr_accessor|attr_reader|attr_writer|private_constant)$"))
(call receiver: (_) @receiver method: [(identifier) (constant)] @reference.call (#not-eq? @reference.call "new"))
(call arguments: (argument_list (block_argument (simple_symbol) @reference.call)))
(call receiver: [
    (constant) @reference.construct
    (scope_resolution scope: (_) @receiver name: (constant) @reference.construct)]
  method: (identifier) @_new (#eq? @_new "new"))
(superclass [
  (constant) @reference.extends
  (scope_resolution scope: (_) @receiver name: (constant) @reference.extends)
  (call receiver: (constant) @reference.extends)])
(assignment right: (call receiver: (constant) @_maker method: (identifier) @_new arguments: (argument_list . [
    (constant) @reference.extends
    (scope_resolution scope: (_) @receiver name: (constant) @reference.extends)])
  (#eq? @_maker "Class") (#eq? @_new "new")))
(call method: (identifier) @_mixin arguments: (argument_list [
    (constant) @reference.implements
    (scope_resolution scope: (_) @receiver name: (constant) @reference.implements)])
  (#any-of? @_mixin "include" "extend" "prepend"))
(call !receiver method: (identifier) @_raise arguments: (argument_list . [
    (constant) @reference.throw
    (scope_resolution scope: (_) @receiver name: (constant) @reference.throw)
    (call receiver: (constant) @reference.throw)
    (call receiver: (scope_resolution scope: (_) @receiver name: (constant) @reference.throw))])
  (#any-of? @_raise "raise" "fail"))
(exceptions [
  (constant) @reference.type
  (scope_resolution scope: (_) @receiver name: (constant) @reference.type)])
(pattern [
  (constant) @reference.type
  (scope_resolution scope: (_) @receiver name: (constant) @reference.type)])
[(instance_variable) (class_variable)] @reference.field

; Without parentheses a call looks like a variable.
(argument_list [(identifier) (constant)] @reference.use)
(argument_list (scope_resolution scope: (_) @receiver name: (constant) @reference.use))
(assignment right: [(identifier) (constant)] @reference.use)
(assignment right: (scope_resolution scope: (_) @receiver name: (constant) @reference.use))
(operator_assignment right: (identifier) @reference.use)
(pair value: [(identifier) (constant)] @reference.use)
(pair value: (scope_resolution scope: (_) @receiver name: (constant) @reference.use))
(array [(identifier) (constant)] @reference.use)
(array (scope_resolution scope: (_) @receiver name: (constant) @reference.use))
(binary [(identifier) (constant)] @reference.use)
(interpolation (identifier) @reference.use)
(method body: (identifier) @reference.use)
(body_statement (identifier) @reference.use
  (#not-match? @reference.use "^(private|public|protected|module_function)$"))
(block_body (identifier) @reference.use)
(then (identifier) @reference.use)
(else (identifier) @reference.use)
(element_reference object: (identifier) @reference.use)
(if condition: (identifier) @reference.use)
(unless condition: (identifier) @reference.use)
(if_modifier [(identifier) @reference.use])
(unless_modifier [(identifier) @reference.use])
(call !receiver method: (identifier) @_macro arguments: (argument_list (simple_symbol) @reference.use)
  (#any-of? @_macro "method" "send" "public_send" "instance_method" "respond_to?" "before_action" "after_action"
    "around_action" "helper_method" "validate" "private_class_method" "module_function" "private" "public" "protected"
    "private_constant"))
(call !receiver method: (identifier) @_macro arguments: (argument_list . (_) . (simple_symbol) @reference.use .)
  (#eq? @_macro "alias_method"))
(alias alias: (_) @reference.use)

; Imports

(call !receiver method: (identifier) @_require arguments: (argument_list . (string (string_content) @import.module))
  (#any-of? @_require "require" "require_relative" "load"))
(call method: (identifier) @_require
  arguments: (argument_list . (simple_symbol) @import.name . (string (string_content) @import.module))
  (#eq? @_require "autoload"))

; Bindings

(method_parameters (identifier) @binding.name)
(block_parameters (identifier) @binding.name)
(lambda_parameters (identifier) @binding.name)
(destructured_parameter (identifier) @binding.name)
(optional_parameter name: (identifier) @binding.name value: (_) @binding.value)
(keyword_parameter name: (identifier) @binding.name value: (_)? @binding.value)
(splat_parameter name: (identifier) @binding.name)
(hash_splat_parameter name: (identifier) @binding.name)
(block_parameter name: (identifier) @binding.name)

(assignment
  left: [(identifier) (instance_variable) (class_variable) (global_variable) (constant)] @binding.name
  right: (_) @binding.value)
(assignment left: (call receiver: (self)) @binding.name right: (_) @binding.value)
(operator_assignment
  left: [(identifier) (instance_variable) (class_variable) (global_variable) (constant)] @binding.name operator: "||="
  right: (_) @binding.value)
(left_assignment_list (identifier) @binding.name)
(destructured_left_assignment (identifier) @binding.name)
(rest_assignment (identifier) @binding.name)
(for pattern: (identifier) @binding.name value: (in (_) @binding.element))
(rescue exceptions: (exceptions . (_) @binding.type) variable: (exception_variable (identifier) @binding.name))
(rescue !exceptions variable: (exception_variable (identifier) @binding.name))
(array_pattern (identifier) @binding.name)
(as_pattern name: (identifier) @binding.name)

; A method gives its last expression.
(return (argument_list . [(call) (identifier) (instance_variable) (constant) (self)] @binding.result .))
([
  (method name: (_) @_name body: (body_statement [
    (call) @binding.result
    (identifier) @binding.result
    (instance_variable) @binding.result
    (constant) @binding.result
    (self) @binding.result
    (assignment right: (_) @binding.result)
    (operator_assignment operator: "||=" right: (_) @binding.result)] .))
  (singleton_method body: (body_statement [
    (call) @binding.result
    (identifier) @binding.result
    (instance_variable) @binding.result
    (constant) @binding.result
    (self) @binding.result
    (assignment right: (_) @binding.result)
    (operator_assignment operator: "||=" right: (_) @binding.result)] .))
  (method body: [(call) (identifier) (instance_variable) (constant) (self)] @binding.result)
  (singleton_method body: [(call) (identifier) (instance_variable) (constant) (self)] @binding.result)
] (#not-eq? @_name "initialize"))
; What literals name

((element_reference object: (constant) @_env . (string . (string_content) @reference.env .)) (#eq? @_env "ENV"))
((call receiver: (constant) @_env method: (identifier) @_get
  arguments: (argument_list . (string . (string_content) @reference.env .)))
  (#eq? @_env "ENV") (#any-of? @_get "fetch" "key?" "has_key?" "include?" "dig"))

(subshell . (string_content) @reference.process)
((call !receiver method: (identifier) @_run
  arguments: (argument_list . (string . (string_content) @reference.process)))
  (#any-of? @_run "system" "exec" "spawn"))
((call receiver: (constant) @_module method: (identifier) @_run arguments: (argument_list . [
    (string . (string_content) @reference.process)
    (array . (string . (string_content) @reference.process))]))
  (#any-of? @_module "Open3" "IO" "Process" "Kernel" "PTY")
  (#any-of? @_run "capture2" "capture2e" "capture3" "popen" "popen2" "popen2e" "popen3" "pipeline" "system" "exec" "spawn"))

; A route goes to a block or to a controller's method; without, a test asks for it.
([
  (call !receiver method: (identifier) @receiver
    arguments: (argument_list . (string . (string_content) @reference.route .)) block: (_))
  (call !receiver method: (identifier) @receiver
    arguments: (argument_list . (string . (string_content) @reference.route .) (pair key: (hash_key_symbol) @_to)))
  (call !receiver method: (identifier) @receiver
    arguments: (argument_list . (pair key: (string . (string_content) @reference.route .) value: (string))))
]
  (#any-of? @receiver "get" "post" "put" "patch" "delete" "options" "head" "match" "mount")
  (#any-of? @_to "to" "controller" "action" "via" "at") (#match? @reference.route "^/"))

((call !receiver method: (identifier) @receiver
  arguments: (argument_list . (string . (string_content) @reference.endpoint .)) !block)
  (#any-of? @receiver "get" "post" "put" "patch" "delete" "head") (#match? @reference.endpoint "^/"))
((call receiver: [(constant) (identifier)] @_client method: (identifier) @receiver
  arguments: (argument_list . (string . (string_content) @reference.endpoint .)))
  (#match? @_client "^(HTTP|Faraday|HTTParty|RestClient|Typhoeus|Excon|\\w*conn|connection|\\w*client|http)$")
  (#any-of? @receiver "get" "post" "put" "patch" "delete" "head") (#match? @reference.endpoint "^(https?:/)?/"))
((call receiver: (constant) @_uri method: (identifier) @receiver
  arguments: (argument_list . (string . (string_content) @reference.endpoint .)))
  (#eq? @_uri "URI") (#any-of? @receiver "parse" "open") (#match? @reference.endpoint "^https?://"))

((call method: (identifier) @_asks
  arguments: (argument_list . [(string . (string_content) @reference.flag .) (simple_symbol) @reference.flag]))
  (#any-of? @_asks "feature_enabled?" "flag_enabled?" "is_enabled?" "feature_flag_enabled?" "variation" "bool_variation"))
((call receiver: (constant) @_flags method: (identifier) @_asks
  arguments: (argument_list . [(string . (string_content) @reference.flag .) (simple_symbol) @reference.flag]))
  (#any-of? @_flags "Flipper" "Feature" "FeatureFlag" "Features" "FeatureFlags") (#any-of? @_asks "enabled?" "disabled?" "active?"))
