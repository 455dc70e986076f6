// The VS Code extension: starts `codelens lsp`, lists hits in a view, and offers the commands of that view.

import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";

import { type Hit, type Range, ServerCommands } from "./commands";
import { hitDescription, hitIcon, hitLabel, hitTooltip } from "./labels";

const SCHEME = "codelens";
let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  client = createClient();
  const answers = new Answers();
  const view = new HitsView(new ServerCommands(executeCommand), answers);
  context.subscriptions.push(
    view.tree,
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, answers),
    vscode.commands.registerCommand("codelens.view.search", (query?: string) => view.search(query)),
    vscode.commands.registerCommand("codelens.view.explainHit", (hit?: Hit) => view.explain(hit)),
    vscode.commands.registerCommand("codelens.view.context", () => view.showContext()),
    vscode.commands.registerCommand("codelens.view.restart", () => client?.restart()),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("codelens")) {
        await deactivate();
        client = createClient();
        await start();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  const ending = client;
  client = undefined;
  if (ending?.isRunning()) {
    await ending.stop();
  }
}

function createClient(): LanguageClient {
  const settings = vscode.workspace.getConfiguration("codelens");
  const [command = "codelens", ...args] = settings.get<string[]>("command", []);
  const features = settings.get<string[]>("features", []);
  const options: LanguageClientOptions = {
    documentSelector: [{ scheme: "file" }],
    initializationOptions: {
      codeLens: settings.get<boolean>("codeLens", false),
      ...(features.length ? { features } : {}),
    },
  };
  return new LanguageClient("codelens", "codelens", { command, args }, options);
}

async function start(): Promise<void> {
  try {
    await client?.start();
  } catch (error) {
    const hint = "Install it with `pip install 'codelens[lsp]'`, or set `codelens.command`.";
    void vscode.window.showErrorMessage(`codelens did not start: ${errorText(error)}. ${hint}`);
  }
}

async function executeCommand(command: string, argument: object): Promise<unknown> {
  if (!client?.isRunning()) {
    throw new Error("the server is not running");
  }
  return client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [argument] });
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The list of hits of the last search. */
class HitsView implements vscode.TreeDataProvider<Hit> {
  readonly tree: vscode.TreeView<Hit>;
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private query = "";
  private hits: Hit[] = [];

  constructor(private readonly server: ServerCommands, private readonly answers: Answers) {
    this.tree = vscode.window.createTreeView("codelens.hits", { treeDataProvider: this });
  }

  getChildren(parent?: Hit): Hit[] {
    return parent ? [] : this.hits;
  }

  getParent(): undefined {
    return undefined;
  }

  getTreeItem(hit: Hit): vscode.TreeItem {
    const item = new vscode.TreeItem(hitLabel(hit));
    item.description = hitDescription(hit);
    item.tooltip = new vscode.MarkdownString(hitTooltip(hit));
    item.iconPath = new vscode.ThemeIcon(hitIcon(hit.kind));
    item.contextValue = "hit";
    const start = new vscode.Position(hit.range.start.line, hit.range.start.character);
    const selection = new vscode.Range(start, start);
    item.command = { command: "vscode.open", title: "Open", arguments: [vscode.Uri.parse(hit.uri), { selection }] };
    return item;
  }

  /** Asks for a query unless one is given, and lists its hits. */
  async search(given?: string): Promise<void> {
    const selected = selectedText();
    const query = given ?? (await vscode.window.showInputBox({
      title: "codelens: Search",
      prompt: "A name, a part of one, or a question in plain words",
      value: selected || this.query,
    }));
    if (!query) {
      return;
    }
    await this.showProgress("Searching", async () => {
      const limit = vscode.workspace.getConfiguration("codelens").get<number>("limit", 20);
      const result = await this.server.search(query, limit);
      this.query = query;
      this.hits = result.hits;
      this.tree.title = `Hits: ${query}`;
      this.tree.message = result.hits.length ? result.notices.join("\n") : ["Nothing found.", ...result.notices].join("\n");
      await vscode.commands.executeCommand("setContext", "codelens.hasHits", this.hits.length > 0);
      this.changed.fire(undefined);
      const [first] = this.hits;
      if (first) {
        await this.tree.reveal(first, { focus: true });
      } else {
        await vscode.commands.executeCommand("codelens.hits.focus");
      }
    });
  }

  /** Opens the explanation of a hit: the given one, the selected one, or the first. */
  async explain(given?: Hit): Promise<void> {
    const hit = given ?? this.tree.selection[0] ?? this.hits[0];
    if (hit) {
      await this.showProgress("Explaining", async () => {
        await this.answers.show(`Why ${hitLabel(hit)}.txt`, await this.server.explain(this.query, hit));
      });
    }
  }

  /** Opens a document with the code that is needed to understand the selection. */
  async showContext(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) {
      void vscode.window.showInformationMessage("codelens: open a file and select some code first.");
      return;
    }
    await this.showProgress("Collecting context", async () => {
      const text = await this.server.context(editor.document.uri.toString(), plainRange(editor.selection));
      await this.answers.show("Context.md", text);
    });
  }

  private async showProgress(title: string, work: () => Promise<void>): Promise<void> {
    const location = vscode.ProgressLocation.Window;
    try {
      await vscode.window.withProgress({ location, title: `codelens: ${title}` }, work);
    } catch (error) {
      void vscode.window.showErrorMessage(`codelens: ${errorText(error)}`);
    }
  }
}

/** `vscode.Range` turns into an array in JSON; the protocol wants an object. */
function plainRange({ start, end }: vscode.Range): Range {
  const plain = ({ line, character }: vscode.Position) => ({ line, character });
  return { start: plain(start), end: plain(end) };
}

function selectedText(): string {
  const editor = vscode.window.activeTextEditor;
  const text = editor?.document.getText(editor.selection) ?? "";
  return text.includes("\n") ? "" : text.trim();
}

/** Read-only documents with answers of the server, which VS Code does not ask to save. */
class Answers implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  /** Shows a text beside the editor. The end of the title decides on the language. */
  async show(title: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: title, query: String(this.texts.size) });
    this.texts.set(uri.toString(), text);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: true, viewColumn: vscode.ViewColumn.Beside });
  }
}
