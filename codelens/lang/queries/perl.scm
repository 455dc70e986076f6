; Definitions

(package_statement name: (package) @namespace)
(subroutine_declaration_statement name: (bareword) @name body: (block) @body) @definition.function
(use_statement module: (package) @_constant (list_expression . (autoquoted_bareword) @name) (#eq? @_constant "constant"))
  @definition.constant
(source_file (expression_statement (assignment_expression
  left: (variable_declaration variable: (_ (varname) @name)))) @definition.variable)

; References

(function_call_expression function: (function) @reference.call)
(ambiguous_function_call_expression function: (function) @reference.call)
(method_call_expression invocant: (_) @receiver method: (method) @reference.call)

; Imports

(use_statement module: (package) @import.module (#not-match? @import.module "^(strict|warnings|utf8|feature|constant|v[0-9]|[0-9])"))
(require_expression (bareword) @import.module)
