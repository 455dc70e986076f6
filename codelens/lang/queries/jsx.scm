; An element of one's own kind builds it; in small letters it is HTML.

([
  (jsx_opening_element name: [
    (identifier) @reference.construct
    (member_expression object: (_) @receiver property: (property_identifier) @reference.construct)])
  (jsx_self_closing_element name: [
    (identifier) @reference.construct
    (member_expression object: (_) @receiver property: (property_identifier) @reference.construct)])
] (#match? @reference.construct "^[A-Z]"))
(jsx_expression [
  (identifier) @reference.use
  (spread_element (identifier) @reference.use)
  (member_expression object: (_) @receiver property: (property_identifier) @reference.use)])
(jsx_expression [(arrow_function) (function_expression)] @closure)
