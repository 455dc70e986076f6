; Definitions: both syntaxes of a function are one node. What a function assigns is left out, though the shell would see it.

(function_definition name: (word) @name) @definition.function

(declaration_command "readonly" (variable_assignment name: (variable_name) @name)) @definition.constant
((declaration_command
  ["declare" "typeset"]
  (word) @_flag
  (variable_assignment name: (variable_name) @name)) @definition.constant
  (#match? @_flag "^-[A-Za-z]*r"))
(declaration_command
  ["declare" "typeset" "export"]
  (variable_assignment name: (variable_name) @name)) @definition.variable
((program (variable_assignment name: (variable_name) @name) @definition.variable)
  (#not-match? @definition.variable "^\\w+\\+="))

; References. Commands of the shell itself are nobody's functions.

((command name: (command_name (word) @reference.call))
  (#not-match? @reference.call
    "^(\\.|:|\\[|alias|break|builtin|cd|command|continue|echo|eval|exec|exit|false|getopts|hash|kill|let|popd|printf|pushd|pwd|read|return|set|shift|shopt|source|test|time|times|trap|true|type|ulimit|umask|unalias|wait)$"))
((command
  name: (command_name (word) @_runner)
  argument: (word) @reference.use)
  (#match? @_runner "^(builtin|command|complete|env|eval|exec|nohup|sudo|time|trap|xargs)$")
  (#match? @reference.use "^[A-Za-z_][A-Za-z0-9_]*$"))
(declaration_command "export" (word) (variable_name) @reference.use)

; Variables in capitals are those that others share.
((simple_expansion (variable_name) @reference.use) (#match? @reference.use "^[A-Z][A-Z0-9_]+$"))
((expansion (variable_name) @reference.use) (#match? @reference.use "^[A-Z][A-Z0-9_]+$"))

; Imports

((command name: (command_name (word) @_source) . argument: (_) @import.module)
  (#match? @_source "^(source|\\.)$"))
