// How a hit is shown in the list.

import type { Hit } from "./commands";

/** The name of what was found, or the file where a hit has no name. */
export function hitLabel(hit: Hit): string {
  return hit.qualified_name || hit.path.slice(hit.path.lastIndexOf("/") + 1);
}

/** Where a hit is, and the main reason for its rank. */
export function hitDescription(hit: Hit): string {
  const place = `${hit.path}:${hit.range.start.line + 1}`;
  return hit.reason ? `${place} · ${hit.reason}` : place;
}

/** Markdown with the signature and the first lines of the code. A fence is longer than any in the code. */
export function hitTooltip(hit: Hit): string {
  const code = hit.snippet.map((line) => line.text).join("\n") || hit.signature;
  const longest = Math.max(2, ...(code.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `**${hit.kind}** · score ${hit.score.toFixed(2)}\n\n${fence}\n${code}\n${fence}`;
}

/** The symbol that VS Code draws before a hit of a kind. */
export function hitIcon(kind: string): string {
  const icons: Record<string, string> = {
    class: "symbol-class",
    constant: "symbol-constant",
    enum: "symbol-enum",
    file: "file",
    function: "symbol-method",
    interface: "symbol-interface",
    macro: "symbol-constant",
    method: "symbol-method",
    module: "symbol-namespace",
    property: "symbol-property",
    section: "symbol-string",
    struct: "symbol-struct",
    trait: "symbol-interface",
    type: "symbol-class",
    variable: "symbol-variable",
  };
  return icons[kind] ?? "symbol-misc";
}
