; Definitions: in Elixir they are calls of macros. Each clause of a function is one, under the same name.

(call target: (identifier) @_defmodule (arguments . (alias) @name) (do_block)? @body
  (#eq? @_defmodule "defmodule")) @definition.module
(call target: (identifier) @_defprotocol (arguments . (alias) @name) (do_block)? @body
  (#eq? @_defprotocol "defprotocol")) @definition.interface
(call target: (identifier) @_defimpl (arguments . (alias) @name) (#eq? @_defimpl "defimpl")) @scope
(call target: (identifier) @_def
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name))
    (binary_operator left: (identifier) @name)])
  (do_block)? @body
  (#any-of? @_def "def" "defp" "defdelegate")) @definition.function
(call target: (identifier) @_def
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name))])
  (do_block)? @body
  (#any-of? @_def "defmacro" "defmacrop" "defguard" "defguardp")) @definition.macro
(unary_operator operand: (call target: (identifier) @_type
  (arguments . (binary_operator left: [(identifier) @name (call target: (identifier) @name)])))
  (#any-of? @_type "type" "typep" "opaque")) @definition.type
(unary_operator operand: (call target: (identifier) @_callback
  (arguments . (binary_operator left: [(identifier) @name (call target: (identifier) @name)])))
  (#any-of? @_callback "callback" "macrocallback")) @definition.function
(do_block (unary_operator operand: (call target: (identifier) @name (arguments))
  (#not-match? @name
    "^(doc|moduledoc|typedoc|spec|type|typep|opaque|callback|macrocallback|impl|behaviour|derive|deprecated|tag|moduletag|describetag|compile|before_compile|enforce_keys|external_resource|dialyzer|since)$"))
  @definition.constant)

((unary_operator operand: (call target: (identifier) @_doc (arguments (string (quoted_content) @doc))))
  . (call target: (identifier) @_def (arguments . [
      (identifier) @name
      (call target: (identifier) @name)
      (binary_operator left: (call target: (identifier) @name))])) @definition
  (#eq? @_doc "doc") (#any-of? @_def "def" "defmacro" "defdelegate"))
((unary_operator operand: (call target: (identifier) @_doc (arguments (string (quoted_content) @doc))))
  . (unary_operator)
  . (call target: (identifier) @_def (arguments . [
      (identifier) @name
      (call target: (identifier) @name)
      (binary_operator left: (call target: (identifier) @name))])) @definition
  (#eq? @_doc "doc") (#any-of? @_def "def" "defmacro" "defdelegate"))
(call target: (identifier) @_module (arguments . (alias) @name)
  (do_block . (unary_operator operand: (call target: (identifier) @_doc (arguments (string (quoted_content) @doc)))))
  (#any-of? @_module "defmodule" "defprotocol") (#eq? @_doc "moduledoc")) @definition

; References

(call target: (identifier) @reference.call
  (#not-match? @reference.call
    "^(def|defp|defmacro|defmacrop|defmodule|defprotocol|defimpl|defdelegate|defguard|defguardp|defstruct|doc|moduledoc|typedoc|spec|type|typep|opaque|callback|impl|alias|import|require|use|if|unless|case|cond|with|for|when)$"))
(call target: (dot left: (_) @receiver right: (identifier) @reference.call))
(struct (alias) @reference.construct)
(unary_operator operator: "@" operand: (identifier) @reference.use)
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @reference.use))
(call target: (identifier) @_raise (arguments . (alias) @reference.throw) (#eq? @_raise "raise"))
(unary_operator operand: (call target: (identifier) @_behaviour (arguments (alias) @reference.implements))
  (#eq? @_behaviour "behaviour"))

; Imports

(call target: (identifier) @_import (arguments . (alias) @import.module) (#any-of? @_import "alias" "import" "require" "use"))
(call target: (identifier) @_import (arguments . (dot left: (alias) @import.module right: (tuple (alias) @import.name)))
  (#any-of? @_import "alias" "require" "import"))

; Bindings

(call target: (identifier) @_def
  (arguments . [
    (call (arguments [
      (identifier) @binding.name
      (tuple (identifier) @binding.name)
      (binary_operator left: (identifier) @binding.name operator: "\\\\")]))
    (binary_operator left: (call (arguments [
      (identifier) @binding.name
      (tuple (identifier) @binding.name)
      (binary_operator left: (identifier) @binding.name operator: "\\\\")])))])
  (#any-of? @_def "def" "defp" "defmacro" "defmacrop"))
(stab_clause left: (arguments [(identifier) @binding.name (tuple (identifier) @binding.name)]))
(binary_operator left: (identifier) @binding.name operator: "=" right: (_) @binding.value)
(binary_operator left: (map (struct (alias) @binding.type)) operator: "=" right: (identifier) @binding.name)
(binary_operator left: (tuple (identifier) @binding.name) operator: "=")
(binary_operator left: (identifier) @binding.name operator: "<-" right: (_) @binding.element)
(binary_operator left: (tuple (identifier) @binding.name) operator: "<-")

(call target: (identifier) @_defimpl
  (arguments . (alias) @binding.interface . (keywords (pair value: (alias) @binding.name)))
  (#eq? @_defimpl "defimpl"))
(call target: (identifier) @_def
  (arguments . [(call) (identifier) (binary_operator)] .)
  (do_block [(call) (identifier) (map (struct))] @binding.result .)
  (#any-of? @_def "def" "defp"))
; What literals name

((call target: (dot left: (alias) @_system right: (identifier) @_get)
  (arguments . (string . (quoted_content) @reference.env .)))
  (#eq? @_system "System") (#any-of? @_get "get_env" "fetch_env" "fetch_env!"))
((call target: (dot left: (alias) @_system right: (identifier) @_run)
  (arguments . (string . (quoted_content) @reference.process)))
  (#eq? @_system "System") (#any-of? @_run "cmd" "shell"))
((call target: (identifier) @receiver
  (arguments . (string . (quoted_content) @reference.route .) . (alias)))
  (#any-of? @receiver "get" "post" "put" "patch" "delete" "resources" "live" "forward") (#match? @reference.route "^/"))
