; Definitions: build stages, arguments and environment variables

(from_instruction as: (image_alias) @name) @definition.module
(arg_instruction name: (unquoted_string) @name) @definition.variable
(env_pair name: (unquoted_string) @name) @definition.variable

; References

(from_instruction (image_spec name: (image_name) @reference.use))
(expansion (variable) @reference.use)
