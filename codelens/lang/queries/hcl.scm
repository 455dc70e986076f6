; Definitions. The address of a Terraform block is its name with its type as the container: aws_s3_bucket.logs.

(config_file (body (block
  (identifier) @_block . (string_lit (template_literal) @container) . (string_lit (template_literal) @name) . (block_start) @body)
  @definition.struct (#any-of? @_block "resource" "data" "ephemeral")))
(config_file (body (block (identifier) @_block . (string_lit (template_literal) @name) . (block_start) @body) @definition.variable
  (#any-of? @_block "variable" "output" "check" "job" "group" "task" "source" "path")))
(config_file (body (block (identifier) @_block . (string_lit (template_literal) @name) . (block_start) @body) @definition.module
  (#any-of? @_block "module" "provider")))
(config_file (body (block (identifier) @_block (body (attribute (identifier) @name) @definition.variable) (#eq? @_block "locals"))))

; References: var.region, local.tags, module.network, aws_s3_bucket.logs, data.aws_ami.ubuntu

(expression . (variable_expr (identifier) @receiver) . (get_attr (identifier) @reference.use) (#not-eq? @receiver "data"))
(expression . (variable_expr (identifier) @_data) . (get_attr (identifier) @receiver) . (get_attr (identifier) @reference.use)
  (#eq? @_data "data"))
(function_call (identifier) @reference.call)
