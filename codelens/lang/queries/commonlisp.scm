; Definitions. `defun`, `defmacro`, `defgeneric` and `defmethod` have a node of their own, all others are lists.

(list_lit (defun (defun_header keyword: (defun_keyword) @_def function_name: (_) @name))
  (#not-match? @_def "^(defmacro|define-)")) @definition.function
(list_lit (defun (defun_header keyword: (defun_keyword) @_def function_name: (_) @name))
  (#match? @_def "^(defmacro|define-)")) @definition.macro
(list_lit . value: (sym_lit) @_def . value: [(sym_lit) @name (str_lit) @name (kwd_lit (kwd_symbol) @name)]
  (#any-of? @_def "defpackage" "define-package" "defsystem")) @definition.module
(list_lit . value: (package_lit symbol: (_) @_def) . value: [(sym_lit) @name (str_lit) @name (kwd_lit (kwd_symbol) @name)]
  (#any-of? @_def "define-package" "defsystem")) @definition.module
(list_lit . value: (sym_lit) @_def . value: [(sym_lit) @name (list_lit . value: (sym_lit) @name)]
  (#any-of? @_def "defclass" "define-condition")) @definition.class
(list_lit . value: (sym_lit) @_def . value: [(sym_lit) @name (list_lit . value: (sym_lit) @name)]
  (#eq? @_def "defstruct")) @definition.struct
(list_lit . value: (sym_lit) @_def . value: (sym_lit) @name (#eq? @_def "deftype")) @definition.type
(list_lit . value: (sym_lit) @_def . value: (sym_lit) @name (#any-of? @_def "defvar" "defparameter")) @definition.variable
(list_lit . value: (sym_lit) @_def . value: (sym_lit) @name (#any-of? @_def "defconstant" "define-symbol-macro"))
  @definition.constant
(list_lit . value: (sym_lit) @_in . value: [(sym_lit) @namespace (kwd_lit (kwd_symbol) @namespace)] (#eq? @_in "in-package"))

(list_lit (defun (defun_header function_name: (_) @name) . value: (str_lit) @doc . value: (_))) @definition
(list_lit . value: (sym_lit) @_def . value: (sym_lit) @name . value: (_) . value: (str_lit) @doc .
  (#any-of? @_def "defvar" "defparameter" "defconstant")) @definition

; Heads of lists that call nothing: special forms and definitions, parameters, what `let` and the like bind, slots.

((list_lit . value: (sym_lit) @name) @definition
  (#match? @name "^(t|def.*|in-package|let\\*?|flet|labels|macrolet|symbol-macrolet|if|when|unless|cond|e?case|e?typecase|progn|prog1|setf|setq|quote|function|declare|loop|dolist|dotimes|do\\*?|return|return-from|block|lambda|multiple-value-bind|destructuring-bind|unwind-protect|the|and|or|not|eval-when|locally|go|tagbody|[-+*/<>=]+)$"))
(defun_header lambda_list: (list_lit . value: (sym_lit) @name) @definition)
(defun_header lambda_list: (list_lit value: (list_lit . value: (sym_lit) @name) @definition))
(list_lit . value: (sym_lit) @_binds . value: (list_lit . value: (sym_lit) @name) @definition
  (#any-of? @_binds "let" "let*" "dolist" "dotimes" "do" "do*" "lambda" "multiple-value-bind" "destructuring-bind"
    "with-slots" "with-accessors" "flet" "labels" "macrolet"))
(list_lit . value: (sym_lit) @_binds . value: (list_lit value: (list_lit . value: (sym_lit) @name) @definition)
  (#any-of? @_binds "let" "let*" "do" "do*" "lambda" "flet" "labels" "macrolet" "symbol-macrolet" "with-accessors"))
(list_lit . value: (sym_lit) @_binds
  . value: (list_lit value: (list_lit . value: (sym_lit) . value: (list_lit . value: (sym_lit) @name) @definition))
  (#any-of? @_binds "flet" "labels" "macrolet"))
(list_lit . value: (sym_lit) @_def . value: (_) . value: (_)
  . value: (list_lit value: (list_lit . value: (sym_lit) @name) @definition)
  (#any-of? @_def "defclass" "define-condition"))

; References: the head of a list that is evaluated is a function or macro.

(source (list_lit . value: (sym_lit) @reference.call))
(defun value: (list_lit . value: (sym_lit) @reference.call))
(list_lit . value: (sym_lit) @_around value: (list_lit . value: (sym_lit) @reference.call)
  (#not-match? @_around "^(def(class|struct|type|package|system)|define-(condition|package)|case|ecase|declare)$"))
(list_lit . value: (package_lit) value: (list_lit . value: (sym_lit) @reference.call))
(list_lit . value: (list_lit . value: (sym_lit) @reference.call))
(list_lit . value: (list_lit) value: (list_lit . value: (sym_lit) @reference.call))
(loop_clause (_ (list_lit . value: (sym_lit) @reference.call)))
(syn_quoting_lit value: (list_lit . value: (sym_lit) @reference.call))
(unquoting_lit value: (list_lit . value: (sym_lit) @reference.call))
(unquote_splicing_lit value: (list_lit . value: (sym_lit) @reference.call))
(list_lit . value: (package_lit package: (_) @receiver symbol: (_) @reference.call))
(var_quoting_lit value: (sym_lit) @reference.use)
(list_lit . value: (sym_lit) @_make . value: (quoting_lit value: (sym_lit) @reference.construct)
  (#any-of? @_make "make-instance" "make-condition" "error" "signal" "warn"))
(list_lit . value: (sym_lit) @_def . value: (sym_lit) . value: (list_lit value: (sym_lit) @reference.extends)
  (#any-of? @_def "defclass" "define-condition"))
(list_lit . value: (sym_lit) @_def
  . value: (list_lit value: (list_lit . value: (kwd_lit) @_include . value: (sym_lit) @reference.extends))
  (#eq? @_def "defstruct") (#match? @_include "^:include$"))
