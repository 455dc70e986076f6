; What JavaScript and TypeScript share. javascript.scm, typescript.scm and jsx.scm add what only one of the grammars knows.

; Definitions

(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(class_declaration name: (_) @name) @definition.class

(method_definition ["get" "set"] name: [(property_identifier) (private_property_identifier)] @name) @definition.property
(method_definition name: [
  (property_identifier) @name
  (private_property_identifier) @name
  (string) @name
  (computed_property_name [(identifier) @name (string) @name (member_expression property: (property_identifier) @name)])
]) @definition.method

(export_statement decorator: (decorator) @decorator declaration: (_ name: (_) @name)) @definition

; A statement that declares one function is that function from `const` on; of several, each is its own part.
[
  (lexical_declaration . (variable_declarator name: (identifier) @name value: [
    (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) .)
  (variable_declaration . (variable_declarator name: (identifier) @name value: [
    (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) .)
] @definition.function
(variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)
]) @definition.function
(lexical_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @body))) @definition.class
(variable_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @body))) @definition.class

(pair
  key: [(property_identifier) (string) (private_property_identifier)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.method
(pair key: [(property_identifier) (string)] @name value: (object)) @scope

; Foo.bar = function
((assignment_expression
  left: (member_expression object: [(identifier) (member_expression)] @container property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
  (#not-match? @container "^(exports|module|module\\.exports|this\\..*)$|prototype$"))

; A function that is named where it is passed or returned.
(arguments (function_expression name: (identifier) @name) @definition.function)
(return_statement (function_expression name: (identifier) @name) @definition.function)
(arguments (class name: (_) @name) @definition.class)
(return_statement (class name: (_) @name) @definition.class)

(export_statement "default" @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @definition.function
(export_statement "default" @name value: (class body: (_) @body)) @definition.class

; Names of the module. `const x = require('x')` is an import.
([
  (program (_ . (variable_declarator name: (identifier) @name value: (_)? @_value) .) @definition.constant)
  (export_statement
    declaration: (_ . (variable_declarator name: (identifier) @name value: (_)? @_value) .) @definition.constant)
] (#match? @name "^_*[A-Z][A-Z0-9_]*$") (#not-match? @_value "^require\\([\"'][^)]*\\)(\\.\\w+)?$"))
([
  (program (_ . (variable_declarator name: (identifier) @name value: (_)? @_value) .) @definition.variable)
  (export_statement declaration: (_ . (variable_declarator name: (identifier) @name) .) @definition.variable)
] (#not-match? @_value "^(await import|require)\\([\"'][^)]*\\)(\\.\\w+)?$"))
([
  (program (_ (variable_declarator name: (identifier) @name) @definition.constant))
  (export_statement declaration: (_ (variable_declarator name: (identifier) @name) @definition.constant))
] (#match? @name "^_*[A-Z][A-Z0-9_]*$"))
([
  (program (_ (variable_declarator name: (identifier) @name value: (_)? @_value) @definition.variable))
  (export_statement declaration: (_ (variable_declarator name: (identifier) @name) @definition.variable))
] (#not-match? @_value "^(await import|require)\\([\"'][^)]*\\)(\\.\\w+)?$"))
([
  (program (_ (variable_declarator
    name: (_ [
      (identifier) @name
      (shorthand_property_identifier_pattern) @name
      (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
      (pair_pattern value: (identifier) @name)])
    value: (_) @_value)) @definition.variable)
  (export_statement declaration: (_ (variable_declarator
    name: (_ [
      (identifier) @name
      (shorthand_property_identifier_pattern) @name
      (pair_pattern value: (identifier) @name)]))) @definition.variable)
] (#not-match? @_value "^(await import|require)\\([\"']"))

; References

(call_expression function: [
  (identifier) @reference.call
  (member_expression object: (_) @receiver property: [(property_identifier) (private_property_identifier)] @reference.call)])
(new_expression constructor: [
  (identifier) @reference.construct
  (member_expression object: (_) @receiver property: (property_identifier) @reference.construct)])
(decorator [
  (identifier) @reference.decorate
  (member_expression object: (_) @receiver property: (property_identifier) @reference.decorate)
  (call_expression function: (identifier) @reference.decorate)
  (call_expression function: (member_expression object: (_) @receiver property: (property_identifier) @reference.decorate))])
(throw_statement [
  (identifier) @reference.throw
  (new_expression constructor: (identifier) @reference.throw)
  (new_expression constructor: (member_expression object: (_) @receiver property: (property_identifier) @reference.throw))
  (call_expression function: (identifier) @reference.throw)])
(binary_expression operator: "instanceof" right: [
  (identifier) @reference.type
  (member_expression object: (_) @receiver property: (property_identifier) @reference.type)])
(member_expression object: (this) @receiver property: [(property_identifier) (private_property_identifier)] @reference.field)
(arguments [
  (identifier) @reference.use
  (member_expression object: (_) @receiver property: (property_identifier) @reference.use)
  (spread_element (identifier) @reference.use)])
(array [(identifier) @reference.use (spread_element (identifier) @reference.use)])
(object [(shorthand_property_identifier) @reference.use (spread_element (identifier) @reference.use)])
(pair value: [
  (identifier) @reference.use
  (member_expression object: (_) @receiver property: (property_identifier) @reference.use)])
(variable_declarator value: (identifier) @reference.use)
(assignment_expression right: [
  (identifier) @reference.use
  (member_expression object: (_) @receiver property: (property_identifier) @reference.use)])
(return_statement (identifier) @reference.use)
(export_statement value: (identifier) @reference.use)
(export_statement !source (export_clause (export_specifier name: (identifier) @reference.use)))

; Imports

(import_statement . source: (string) @import.module)
((import_statement (import_clause (identifier) @import.alias) source: (string) @import.module) (#set! import.name "default"))
(import_statement
  (import_clause (namespace_import "*" @import.name (identifier) @import.alias)) source: (string) @import.module)
(import_statement
  (import_clause (named_imports (import_specifier name: (_) @import.name alias: (identifier)? @import.alias)))
  source: (string) @import.module)
(export_statement "*" @import.name source: (string) @import.module)
(export_statement (namespace_export "*" @import.name (_) @import.alias) source: (string) @import.module)
(export_statement
  (export_clause (export_specifier name: (_) @import.name alias: (_)? @import.alias)) source: (string) @import.module)

((variable_declarator
  name: [
    (identifier) @import.alias
    (object_pattern [
      (shorthand_property_identifier_pattern) @import.name
      (object_assignment_pattern left: (shorthand_property_identifier_pattern) @import.name)
      (pair_pattern key: (property_identifier) @import.name value: (identifier) @import.alias)])]
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @import.module)))
  (#eq? @_require "require"))
((variable_declarator
  name: [
    (identifier) @import.alias
    (object_pattern [
      (shorthand_property_identifier_pattern) @import.name
      (pair_pattern key: (property_identifier) @import.name value: (identifier) @import.alias)])]
  value: (await_expression (call_expression function: (import) arguments: (arguments . (string) @import.module)))))
((variable_declarator
  name: (identifier) @import.alias
  value: (member_expression
    object: (call_expression function: (identifier) @_require arguments: (arguments . (string) @import.module))
    property: (property_identifier) @import.name))
  (#eq? @_require "require"))
; Anywhere else the module itself; it gives way to names that a pattern above takes from it.
((call_expression function: (identifier) @_require arguments: (arguments . (string) @import.module .))
  (#eq? @_require "require"))
(call_expression function: (import) arguments: (arguments . (string) @import.module))

; Bindings

(variable_declarator name: (identifier) @binding.name value: (_) @binding.value)
(variable_declarator name: (identifier) @binding.name !value)
(assignment_expression left: (identifier) @binding.name right: (_) @binding.value)
(assignment_expression left: (member_expression object: (this)) @binding.name right: (_) @binding.value)
(for_in_statement left: (identifier) @binding.name operator: "of" right: (_) @binding.element)
(for_in_statement left: (identifier) @binding.name)
(arrow_function parameter: (identifier) @binding.name)
(catch_clause parameter: (identifier) @binding.name)
(shorthand_property_identifier_pattern) @binding.name
(pair_pattern value: (identifier) @binding.name)
(array_pattern (identifier) @binding.name)
(rest_pattern (identifier) @binding.name)
(assignment_pattern left: (identifier) @binding.name right: (_) @binding.value)
(export_statement "default" @binding.name
  value: [(identifier) (member_expression) (call_expression) (new_expression)] @binding.value)
(export_statement !source (export_clause (export_specifier name: (_) @binding.value alias: (_) @binding.name)))

(return_statement [
  (call_expression) @binding.result
  (new_expression) @binding.result
  (identifier) @binding.result
  (member_expression) @binding.result
  (this) @binding.result
  (await_expression [(call_expression) (identifier) (member_expression)] @binding.result)])
(arrow_function body: [(call_expression) (new_expression) (identifier) (member_expression)] @binding.result)

; Of these functions nobody asks by name what they return.
(arguments [(arrow_function) (function_expression) (generator_function)] @closure)
(return_statement [(arrow_function) (function_expression) (generator_function)] @closure)
(arrow_function body: [(arrow_function) (function_expression)] @closure)
(parenthesized_expression [(arrow_function) (function_expression) (generator_function)] @closure)
(array [(arrow_function) (function_expression)] @closure)
(binary_expression right: [(arrow_function) (function_expression)] @closure)
(ternary_expression [(arrow_function) (function_expression)] @closure)
(export_statement !source (export_clause (export_specifier name: (identifier) @binding.value alias: (_) @binding.name)))
(export_statement "default" @binding.name value: (identifier) @binding.value)

; What literals name

([
  (member_expression object: (member_expression) @_env property: (property_identifier) @reference.env)
  (subscript_expression object: (member_expression) @_env index: (string . (string_fragment) @reference.env .))
] (#any-of? @_env "process.env" "import.meta.env" "Bun.env"))
((variable_declarator
  name: (object_pattern [
    (shorthand_property_identifier_pattern) @reference.env
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @reference.env)
    (pair_pattern key: (property_identifier) @reference.env)])
  value: (member_expression) @_env) (#eq? @_env "process.env"))
((call_expression
  function: (member_expression) @_get arguments: (arguments . (string . (string_fragment) @reference.env .)))
  (#any-of? @_get "Deno.env.get" "Deno.env.has"))

((call_expression
  function: [
    (identifier) @_module @_run
    (member_expression object: (identifier) @_module property: (property_identifier) @_run)]
  arguments: (arguments . [
    (string . (string_fragment) @reference.process)
    (template_string . (string_fragment) @reference.process)
    (array . (string . (string_fragment) @reference.process .))]))
  (#any-of? @_module "child_process" "childProcess" "cp" "Bun" "exec" "execSync" "execFile" "execFileSync" "spawn" "spawnSync"
    "execa" "execaSync" "execaCommand")
  (#any-of? @_run "exec" "execSync" "execFile" "execFileSync" "spawn" "spawnSync" "execa" "execaSync" "execaCommand"))
((call_expression
  function: (identifier) @_run arguments: (template_string . (string_fragment) @reference.process))
  (#any-of? @_run "$" "execa"))

((call_expression
  function: (member_expression object: (_) @_server property: (property_identifier) @receiver)
  arguments: (arguments
    . [(string . (string_fragment) @reference.route .) (template_string . (string_fragment) @reference.route .)] . (_)))
  (#match? @_server "(^|\\.)_?(\\w*[aA]pp|\\w*[rR]outer|server|fastify|routes)$")
  (#any-of? @receiver "get" "post" "put" "delete" "patch" "head" "options" "all" "del" "use" "ws")
  (#match? @reference.route "^/"))
((call_expression
  function: (member_expression object: (identifier) @_server property: (property_identifier) @receiver)
  arguments: (arguments . (string . (string_fragment) @reference.route .) .))
  (#match? @_server "^(\\w*[aA]pp|\\w*[rR]outer)$") (#eq? @receiver "route") (#match? @reference.route "^/"))
((decorator (call_expression
  function: (identifier) @receiver arguments: (arguments . (string . (string_fragment) @reference.route .))))
  (#any-of? @receiver "Get" "Post" "Put" "Delete" "Patch" "Head" "Options" "All" "Controller" "JsonController" "RestController"))

((call_expression
  function: [(identifier) @receiver (member_expression property: (property_identifier) @receiver)]
  arguments: (arguments
    . [(string . (string_fragment) @reference.endpoint .) (template_string . (string_fragment) @reference.endpoint .)]))
  (#any-of? @receiver "fetch" "$fetch" "apiFetch" "axios" "ofetch" "useFetch" "useSWR")
  (#match? @reference.endpoint "^(https?:/)?/"))
((call_expression
  function: (member_expression object: (_) @_client property: (property_identifier) @receiver)
  arguments: (arguments
    . [(string . (string_fragment) @reference.endpoint .) (template_string . (string_fragment) @reference.endpoint .)]))
  (#match? @_client "([aA]xios|[hH]ttp|[cC]lient|[aA]pi|^[$]|^ky|^got|[aA]gent)$|^(request|supertest)\\(")
  (#any-of? @receiver "get" "post" "put" "delete" "patch" "head" "options" "request" "getJSON")
  (#match? @reference.endpoint "^(https?:/)?/"))

((call_expression
  function: [(identifier) @_asks (member_expression property: (property_identifier) @_asks)]
  arguments: (arguments . (string . (string_fragment) @reference.flag .)))
  (#any-of? @_asks "isEnabled" "isFeatureEnabled" "featureEnabled" "hasFeature" "useFlag" "useFeatureFlag" "useFeature"
    "useVariation" "variation" "boolVariation" "stringVariation" "getBooleanValue" "useBooleanFlagValue" "getTreatment"
    "isOn" "checkGate"))
