// The commands of `codelens lsp` that are not part of the protocol, as typed functions.

/** A position in the encoding of the protocol: zero-based line and character. */
export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

/** One result of a search, best first, as `codelens search --json` has it. */
export interface Hit {
  path: string;
  uri: string;
  range: Range;
  kind: string;
  qualified_name: string;
  signature: string;
  score: number;
  reason: string;
  snippet: { text: string }[];
}

export interface SearchResult {
  hits: Hit[];
  /** What the answer leaves out or guesses, one sentence each. */
  notices: string[];
}

interface Text {
  text: string;
}

/** Sends a command of the server with its one argument, and returns the answer. */
export type Execute = (command: string, argument: object) => Promise<unknown>;

/** Asks the server. Each method is one `workspace/executeCommand`. */
export class ServerCommands {
  constructor(private readonly execute: Execute) {}

  async search(query: string, limit: number): Promise<SearchResult> {
    return this.ask<SearchResult>("search", { query, limit });
  }

  /** Explains why a hit is at its rank, as text with the contributions to its score. */
  async explain(query: string, hit: Hit): Promise<string> {
    return (await this.ask<Text>("why", { query, uri: hit.uri, position: hit.range.start })).text;
  }

  /** Returns the code that is needed to understand a range, as Markdown. */
  async context(uri: string, range: Range): Promise<string> {
    return (await this.ask<Text>("context", { uri, range })).text;
  }

  private async ask<Answer>(command: string, argument: object): Promise<Answer> {
    const answer = await this.execute(`codelens.${command}`, argument);
    if (!answer) {
      throw new Error("no index has this file; its folder may not be open, or its index is still being built");
    }
    return answer as Answer;
  }
}
