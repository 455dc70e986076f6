; Definitions

(function_item name: (identifier) @name) @definition.function
(trait_item body: (declaration_list (function_signature_item name: (identifier) @name) @definition.function))
(foreign_mod_item body: (declaration_list (function_signature_item name: (identifier) @name) @definition.function))
(struct_item name: (type_identifier) @name) @definition.struct
(union_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(trait_item name: (type_identifier) @name) @definition.trait
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
((const_item name: (identifier) @name) @definition.constant (#not-eq? @name "_"))
(static_item name: (identifier) @name) @definition.variable
(macro_definition name: (identifier) @name . (macro_rule)? @body) @definition.macro

; `mod x;` only says that there is a file: an import.
(mod_item name: (identifier) @name body: (_)) @definition.module
(mod_item body: (declaration_list . (line_comment (inner_doc_comment_marker))+ @doc)) @definition.module
(source_file (line_comment (inner_doc_comment_marker)) @doc)

; impl T and impl Trait for T hold the methods of T.
(impl_item type: [
  (type_identifier) @name
  (generic_type type: (type_identifier) @name)
  (scoped_type_identifier name: (type_identifier) @name)
  (generic_type type: (scoped_type_identifier name: (type_identifier) @name))
  (reference_type type: (type_identifier) @name)
  (reference_type type: (generic_type type: (type_identifier) @name))
  (reference_type type: [(primitive_type) (array_type) (tuple_type)] @name)
  (dynamic_type trait: (type_identifier) @name)
  (primitive_type) @name
  (array_type) @name
  (tuple_type) @name
  (unit_type) @name]) @scope

; References

(call_expression function: (identifier) @reference.call)
(call_expression function: (field_expression value: (_) @receiver field: (field_identifier) @reference.call))
(call_expression function: (scoped_identifier path: (_) @receiver name: (identifier) @reference.call))
(call_expression function: (parenthesized_expression (identifier) @reference.call))
(generic_function function: (identifier) @reference.call)
(generic_function function: (field_expression value: (_) @receiver field: (field_identifier) @reference.call))
(generic_function function: (scoped_identifier path: (_) @receiver name: (identifier) @reference.call))
(macro_invocation macro: (identifier) @reference.call)
(macro_invocation macro: (scoped_identifier path: (_) @receiver name: (identifier) @reference.call))

; What a macro is given are only tokens: a name that touches a parenthesis is a call.
((token_tree (identifier) @reference.call . (token_tree "(") @arguments)
  (#touch? @reference.call @arguments))
((token_tree [(identifier) (self)] @receiver . ["." "::"] . (identifier) @reference.call . (token_tree "(") @arguments)
  (#touch? @reference.call @arguments))
(token_tree (identifier) @reference.call . "!" . (token_tree))
(macro_invocation (token_tree (identifier) @reference.use))
(macro_invocation (token_tree (self) @receiver . "." . (identifier) @reference.field))

((struct_expression name: [
  (type_identifier) @reference.construct
  (scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.construct)
  (generic_type_with_turbofish type: (type_identifier) @reference.construct)])
  (#not-eq? @reference.construct "Self"))

(trait_item bounds: (trait_bounds [
  (type_identifier) @reference.extends
  (scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.extends)
  (generic_type type: (type_identifier) @reference.extends)]))
(impl_item trait: [
  (type_identifier) @reference.implements
  (scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.implements)
  (generic_type type: (type_identifier) @reference.implements)
  (generic_type type: (scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.implements))])

(attribute_item (attribute . (identifier) @reference.decorate (#not-eq? @reference.decorate "derive")))
(attribute_item (attribute . (scoped_identifier path: (_) @receiver name: (identifier) @reference.decorate)))
((attribute_item (attribute . (identifier) @_derive arguments: (token_tree (identifier) @reference.decorate)))
  (#eq? @_derive "derive"))

((type_identifier) @reference.type (#not-match? @reference.type "^(Self|_)$"))
(scoped_type_identifier path: (_) @receiver name: (type_identifier) @reference.type)

(arguments [
  (identifier) @reference.use
  (scoped_identifier path: (_) @receiver name: (identifier) @reference.use)
  (reference_expression value: (identifier) @reference.use)])
(array_expression [
  (identifier) @reference.use
  (scoped_identifier path: (_) @receiver name: (identifier) @reference.use)])
(field_initializer value: [
  (identifier) @reference.use
  (scoped_identifier path: (_) @receiver name: (identifier) @reference.use)])
(shorthand_field_initializer (identifier) @reference.use)
(let_declaration value: [
  (identifier) @reference.use
  (scoped_identifier path: (_) @receiver name: (identifier) @reference.use)])
(assignment_expression right: (identifier) @reference.use)
(return_expression (identifier) @reference.use)
(match_pattern (scoped_identifier path: (_) @receiver name: (identifier) @reference.use))
(tuple_struct_pattern type: (scoped_identifier path: (_) @receiver name: (identifier) @reference.use))
(field_expression value: (_) @receiver field: (field_identifier) @reference.field)

; Imports: a use tree is flattened, one import for each leaf.

(scoped_use_list path: (_) @import.prefix)
(use_declaration argument: (identifier) @import.module)
(use_declaration argument: (scoped_identifier path: (_) @import.module name: (_) @import.name))
(use_declaration argument: (use_as_clause path: (identifier) @import.module alias: (identifier) @import.alias))
(use_list [(identifier) (self)] @import.name)
(use_list (scoped_identifier path: (_) @import.module name: (_) @import.name))
(use_list (use_as_clause path: [(identifier) (self)] @import.name alias: (identifier) @import.alias))
(use_as_clause
  path: (scoped_identifier path: (_) @import.module name: (_) @import.name)
  alias: (identifier) @import.alias)
(use_wildcard (_) @import.module "*" @import.name)
(use_wildcard . "*" @import.name)
(extern_crate_declaration name: (identifier) @import.module alias: (identifier)? @import.alias)
(mod_item name: (identifier) @import.module !body)

; Bindings

; Names that a function without a name binds are bound in it alone.
(closure_expression) @closure

(parameter pattern: (identifier) @binding.name type: (_) @binding.type)
(let_declaration pattern: (identifier) @binding.name type: (_) @binding.type)
(let_declaration pattern: (identifier) @binding.name value: (_) @binding.value)
(let_declaration pattern: (identifier) @binding.name !value)
(const_item name: (identifier) @binding.name type: (_) @binding.type)
(const_item name: (identifier) @binding.name value: (_) @binding.value)
(static_item name: (identifier) @binding.name type: (_) @binding.type)
(static_item name: (identifier) @binding.name value: (_) @binding.value)
(type_item name: (type_identifier) @binding.name type: (_) @binding.value)
(field_declaration name: (field_identifier) @binding.name type: (_) @binding.type)
(for_expression pattern: (identifier) @binding.name value: (_) @binding.element)
(closure_parameters (identifier) @binding.name)

; What Some and Ok hold is taken for the whole, as the linker takes an Option for what it may hold.
(let_condition
  pattern: (tuple_struct_pattern
    type: (identifier) @_some . [(identifier) @binding.name (mut_pattern (identifier) @binding.name) (ref_pattern (identifier) @binding.name)])
  value: (_) @binding.value (#any-of? @_some "Some" "Ok"))
(let_declaration
  pattern: (tuple_struct_pattern type: (identifier) @_some . (identifier) @binding.name)
  value: (_) @binding.value (#any-of? @_some "Some" "Ok"))
(match_expression value: (_) @binding.value body: (match_block (match_arm pattern: (match_pattern
  (tuple_struct_pattern type: (identifier) @_some . (identifier) @binding.name)))) (#any-of? @_some "Some" "Ok"))

(tuple_struct_pattern type: (_) (identifier) @binding.name)
(tuple_pattern (identifier) @binding.name)
(slice_pattern (identifier) @binding.name)
(reference_pattern (identifier) @binding.name)
(ref_pattern (identifier) @binding.name)
(mut_pattern (identifier) @binding.name)
(captured_pattern . (identifier) @binding.name)
(field_pattern name: (shorthand_field_identifier) @binding.name)
(field_pattern pattern: (identifier) @binding.name)
; In capitals it is a constant or a variant.
(match_pattern . (identifier) @binding.name (#match? @binding.name "^[a-z_]"))

(assignment_expression left: (identifier) @binding.name right: (_) @binding.value)
(assignment_expression left: (field_expression value: (self)) @binding.name right: (_) @binding.value)

(function_item return_type: (_) @binding.return)
(function_signature_item return_type: (_) @binding.return)
; What literals name

((call_expression
  function: [(scoped_identifier path: [(identifier) @_env (scoped_identifier name: (identifier) @_env)] name: (identifier) @_var)]
  arguments: (arguments . (string_literal . (string_content) @reference.env .)))
  (#eq? @_env "env") (#any-of? @_var "var" "var_os"))
((macro_invocation
  macro: [(identifier) @_env (scoped_identifier name: (identifier) @_env)]
  (token_tree . (string_literal . (string_content) @reference.env .)))
  (#any-of? @_env "env" "option_env"))
((token_tree
  (identifier) @_env . "::" . (identifier) @_var . (token_tree . (string_literal . (string_content) @reference.env .)))
  (#eq? @_env "env") (#any-of? @_var "var" "var_os"))

((call_expression
  function: (scoped_identifier path: (_) @_command name: (identifier) @_new)
  arguments: (arguments . (string_literal . (string_content) @reference.process)))
  (#match? @_command "^((std::|tokio::|async_)?process::)?Command$") (#eq? @_new "new"))

((attribute_item (attribute
  [(identifier) @receiver (scoped_identifier name: (identifier) @receiver)]
  arguments: (token_tree . (string_literal . (string_content) @reference.route .))))
  (#any-of? @receiver "get" "post" "put" "delete" "patch" "head" "options" "route") (#match? @reference.route "^/"))
((call_expression
  function: [
    (field_expression field: (field_identifier) @receiver)
    (scoped_identifier path: (identifier) @_web name: (identifier) @receiver)]
  arguments: (arguments . (string_literal . (string_content) @reference.route .)))
  (#eq? @_web "web") (#any-of? @receiver "route" "nest" "resource" "scope" "route_service" "nest_service")
  (#match? @reference.route "^/"))

((call_expression
  function: [
    (scoped_identifier path: [(identifier) @_client (scoped_identifier name: (identifier) @_client)] name: (identifier) @receiver)
    (field_expression value: [(identifier) @_client (field_expression field: (field_identifier) @_client)]
      field: (field_identifier) @receiver)]
  arguments: (arguments . (string_literal . (string_content) @reference.endpoint .)))
  (#match? @_client "^(reqwest|blocking|ureq|surf|\\w*client|http)$") (#any-of? @receiver "get" "post" "put" "delete" "patch" "head")
  (#match? @reference.endpoint "^(https?:/)?/"))

((call_expression
  function: [(identifier) @_asks (field_expression field: (field_identifier) @_asks) (scoped_identifier name: (identifier) @_asks)]
  arguments: (arguments . (string_literal . (string_content) @reference.flag .)))
  (#any-of? @_asks "is_enabled" "feature_enabled" "is_feature_enabled" "bool_variation" "str_variation" "get_bool_value"))
