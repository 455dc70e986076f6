; Read for C, and before cpp.scm for C++: every node type here exists in both grammars.

; Functions. A prototype defines nothing. The name lies under the pointers of the return type, or in parentheses that keep
; a macro of the same name away.
((function_definition !type declarator: (function_declarator declarator: (identifier) @name)) @definition.function
  (#not-match? @name "^([A-Z][A-Z0-9_]+|if|for|while|switch|return|sizeof)$"))
((function_definition type: (_) declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator (identifier) @name))
  (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator (identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))))]) @definition.function
  (#not-match? @name "^(if|for|while|switch|return|sizeof)$"))

; DEFINE_READER(json) {…}, TEST(Status, Move) {…}: the macro makes a name of its last argument. In TEST_F and TEST_P, the first one is
; a class; elsewhere it may name the class that is tested.
((function_definition !type declarator: (function_declarator
  declarator: (identifier) @_macro
  parameters: (parameter_list . (parameter_declaration type: (type_identifier) @container !declarator)
    . (parameter_declaration type: (type_identifier) @name !declarator) .))) @definition.function
  (#match? @_macro "^[A-Z][A-Z0-9_]+_[FP]$"))
((function_definition !type declarator: (function_declarator
  declarator: (identifier) @_macro
  parameters: (parameter_list (parameter_declaration type: (type_identifier) @name !declarator) .))) @definition.function
  (#match? @_macro "^[A-Z][A-Z0-9_]+$") (#not-match? @_macro "_[FP]$"))

; static int FUNC(read)(…): the macro makes a name of what it is given.
(function_definition declarator: (function_declarator declarator: (function_declarator
  declarator: (identifier)
  parameters: (parameter_list . (parameter_declaration type: (type_identifier) @name !declarator) .)))) @definition.function

; A head that #ifdef gives twice before one body looks like two prototypes: the heads are what can be had.
((preproc_ifdef [
  (declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.function
  (preproc_else (declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.function)])
  . (compound_statement))

; Types with a body; a typedef or a variable made in the same statement shares the statement with them.
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(union_specifier name: (type_identifier) @name body: (_)) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(type_definition type: [
  (struct_specifier name: (type_identifier) @name body: (_))
  (union_specifier name: (type_identifier) @name body: (_))
  (enum_specifier name: (type_identifier) @name body: (_))]) @definition
(declaration type: [
  (struct_specifier name: (type_identifier) @name body: (_))
  (union_specifier name: (type_identifier) @name body: (_))
  (enum_specifier name: (type_identifier) @name body: (_))]) @definition

(type_definition type: [
  (struct_specifier !name body: (_) @body)
  (union_specifier !name body: (_) @body)]
  declarator: (type_identifier) @name) @definition.struct
(type_definition type: (enum_specifier !name body: (_) @body) declarator: (type_identifier) @name) @definition.enum

; typedef struct node { … } node names one thing.
((type_definition type: (_ name: (_) @_tag body: (_)) declarator: (type_identifier) @name) @definition.type
  (#not-eq? @name @_tag))
(type_definition type: (_ !body) declarator: (type_identifier) @name) @definition.type
(type_definition declarator: [
  (pointer_declarator declarator: (type_identifier) @name)
  (array_declarator declarator: (type_identifier) @name)
  (function_declarator declarator: (type_identifier) @name)
  (function_declarator declarator: (parenthesized_declarator (type_identifier) @name))
  (function_declarator declarator: (parenthesized_declarator
    (pointer_declarator declarator: (type_identifier) @name)))
  (pointer_declarator declarator: (function_declarator declarator: (type_identifier) @name))
  (pointer_declarator declarator: (function_declarator declarator: (parenthesized_declarator
    (pointer_declarator declarator: (type_identifier) @name))))]) @definition.type

; Constants: const values and tables that are no pointers, object-like macros with a value, and the names of an enum that has
; none itself. Variables: what is more than declared. Those inside functions fall away because they are local.
((declaration
  (type_qualifier) @_const
  declarator: (init_declarator declarator: [
    (identifier) @name
    (array_declarator declarator: (identifier) @name)
    (array_declarator declarator: (array_declarator declarator: (identifier) @name))
    (array_declarator declarator: (array_declarator declarator: (array_declarator declarator: (identifier) @name)))
    (array_declarator declarator: (array_declarator declarator: (array_declarator
      declarator: (array_declarator declarator: (identifier) @name))))])) @definition.constant
  (#any-of? @_const "const" "constexpr")
  (#not-match? @name "^(class|const|char|double|enum|float|int|long|short|static|struct|union|unsigned|void)$"))
((declaration declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
  (array_declarator declarator: (identifier) @name)
  (array_declarator declarator: (array_declarator declarator: (identifier) @name))
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: [
    (identifier) @name
    (array_declarator declarator: (identifier) @name)])))
  (init_declarator declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
    (array_declarator declarator: (identifier) @name)
    (array_declarator declarator: (array_declarator declarator: (identifier) @name))
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: [
      (identifier) @name
      (array_declarator declarator: (identifier) @name)])))])]) @definition.variable
  (#not-match? @definition.variable "^extern\\b")
  (#not-match? @name "^(class|const|char|double|enum|float|int|long|short|static|struct|union|unsigned|void)$"))
(preproc_def name: (identifier) @name value: (_)) @definition.constant
(preproc_function_def name: (identifier) @name value: (_)? @body) @definition.macro
(translation_unit (enum_specifier !name body: (enumerator_list (enumerator name: (identifier) @name) @definition.constant)))
(preproc_ifdef (enum_specifier !name body: (enumerator_list (enumerator name: (identifier) @name) @definition.constant)))
(preproc_if (enum_specifier !name body: (enumerator_list (enumerator name: (identifier) @name) @definition.constant)))

; References

(call_expression function: (identifier) @reference.call)
(call_expression function: (field_expression argument: (_) @receiver field: (field_identifier) @reference.call))
(call_expression function: (parenthesized_expression (pointer_expression argument: (identifier) @reference.call)))
(compound_literal_expression type: (type_descriptor type: [
  (type_identifier) @reference.construct
  (struct_specifier name: (type_identifier) @reference.construct)]))
(type_identifier) @reference.type

(argument_list [(identifier) @reference.use (pointer_expression argument: (identifier) @reference.use)])
(initializer_list [(identifier) @reference.use (pointer_expression argument: (identifier) @reference.use)])
(initializer_pair value: [(identifier) @reference.use (pointer_expression argument: (identifier) @reference.use)])
(init_declarator value: [(identifier) @reference.use (pointer_expression argument: (identifier) @reference.use)])
(assignment_expression right: [(identifier) @reference.use (pointer_expression argument: (identifier) @reference.use)])
(return_statement (identifier) @reference.use)
(field_expression argument: (_) @receiver field: (field_identifier) @reference.field)

; Imports: <system.h> keeps its brackets, "own.h" loses its quotes.

(preproc_include path: [(system_lib_string) (string_literal) (identifier)] @import.module)

; Bindings: a name under its pointers and dimensions, and the type before them. Functions that are only declared bind nothing.

((parameter_declaration type: (_) @binding.type declarator: (_) @binding.declarator)
  (#not-match? @binding.declarator "[(]") (#not-eq? @binding.type "auto"))
((declaration type: (_) @binding.type declarator: (_) @binding.declarator)
  (#not-match? @binding.declarator "^[^=]*[(]") (#not-eq? @binding.type "auto"))
((field_declaration type: (_) @binding.type declarator: (_) @binding.declarator) (#not-match? @binding.declarator "[(]"))
((type_definition type: (_) @binding.value declarator: (_) @binding.declarator) (#not-match? @binding.declarator "[(]"))
(function_definition type: [(type_identifier) (struct_specifier) (union_specifier)] @binding.return)

; Of a pointer to a function only the name is said.
(parenthesized_declarator (pointer_declarator declarator: (_) @binding.declarator))

(declaration declarator: (function_declarator parameters: (_) @prototype))
(declaration declarator: (pointer_declarator declarator: (function_declarator parameters: (_) @prototype)))
(field_declaration declarator: (function_declarator parameters: (_) @prototype))
(field_declaration declarator: (pointer_declarator declarator: (function_declarator parameters: (_) @prototype)))
(type_definition declarator: (function_declarator parameters: (_) @prototype))
(type_definition declarator: (pointer_declarator declarator: (function_declarator parameters: (_) @prototype)))
(parameter_declaration declarator: (function_declarator parameters: (_) @prototype))
(function_declarator declarator: (parenthesized_declarator (pointer_declarator)) parameters: (_) @prototype)
(abstract_function_declarator declarator: (_) parameters: (_) @prototype)
; What literals name

((call_expression
  function: (identifier) @_get arguments: (argument_list . (string_literal . (string_content) @reference.env .)))
  (#any-of? @_get "getenv" "secure_getenv" "g_getenv"))
((call_expression
  function: (identifier) @_run arguments: (argument_list . (string_literal . (string_content) @reference.process)))
  (#any-of? @_run "system" "popen" "execl" "execle" "execlp" "execv" "execve" "execvp" "execvpe"))
