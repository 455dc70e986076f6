; Definitions

(module_declaration name: (_) @namespace)
(value_declaration functionDeclarationLeft: (function_declaration_left . (lower_case_identifier) @name)
  body: (_) @body) @definition.function
(type_declaration name: (upper_case_identifier) @name) @definition.type
(union_variant name: (upper_case_identifier) @name) @definition.constant
(type_alias_declaration name: (upper_case_identifier) @name) @definition.type
(port_annotation name: (lower_case_identifier) @name) @definition.function

; References

(function_call_expr target: (value_expr name: (value_qid . (lower_case_identifier) @reference.call)))
(function_call_expr target: (value_expr
  name: (value_qid (upper_case_identifier) @receiver (lower_case_identifier) @reference.call)))
(function_call_expr target: (value_expr name: (upper_case_qid (upper_case_identifier) @reference.construct .)))
(value_expr name: (value_qid . (lower_case_identifier) @reference.use))
(value_expr name: (value_qid (upper_case_identifier) @receiver (lower_case_identifier) @reference.use))
(value_expr name: (upper_case_qid (upper_case_identifier) @reference.use .))
(union_pattern constructor: (upper_case_qid (upper_case_identifier) @reference.use .))
(type_ref . (upper_case_qid (upper_case_identifier) @reference.type .))

; Imports

(import_clause moduleName: (_) @import.module !exposing !asClause)
(import_clause moduleName: (_) @import.module asClause: (as_clause name: (_) @import.alias))
(import_clause moduleName: (_) @import.module exposing: (exposing_list
  [(exposed_value (_) @import.name) (exposed_type . (upper_case_identifier) @import.name)]))
(import_clause moduleName: (_) @import.module exposing: (exposing_list (double_dot)) (#set! import.name "*"))
