; Definitions, by the grammar of tree-sitter-languages 1.10.

(package_statement (package_name) @namespace)
(function_definition name: (identifier) @name body: (block) @body) @definition.function
(use_constant_statement constant: (identifier) @name) @definition.constant
(source_file (variable_declaration (single_var_declaration) @name) @definition.variable)

; References

(call_expression !package_name function_name: (identifier) @reference.call)
(call_expression package_name: (package_name) @receiver function_name: (identifier) @reference.call)
(method_invocation object: (_) @receiver function_name: (identifier) @reference.call)
(method_invocation package_name: (package_name) @receiver function_name: (identifier) @reference.call)
(method_invocation package_name: (package_name) @reference.type)

; Imports

(use_no_statement (package_name) @import.module
  (#not-match? @import.module "^(strict|warnings|utf8|feature|constant|parent|base|v[0-9]|[0-9])"))
(require_statement (package_name) @import.module)
