// Asks the real server, through the client half of the protocol that VS Code's own client is built on.
// CODELENS is the command that starts it, by default `codelens`.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  createProtocolConnection,
  ExecuteCommandRequest,
  ExitNotification,
  InitializedNotification,
  InitializeRequest,
  type ProtocolConnection,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";

import { type Hit, type SearchResult, ServerCommands } from "../src/commands";
import { hitDescription, hitIcon, hitLabel, hitTooltip } from "../src/labels";

// dist/test/server.test.js → the checkout.
const samples = join(__dirname, "..", "..", "..", "..", "sample_repos");
const folder = mkdtempSync(join(tmpdir(), "codelens-vscode-"));
let child: ChildProcess;
let connection: ProtocolConnection;
let server: ServerCommands;

before(async () => {
  cpSync(join(samples, "shop", "repo"), folder, { recursive: true });
  const [program = "codelens", ...args] = (process.env.CODELENS ?? "codelens").split(" ");
  child = spawn(program, [...args, "lsp"], { stdio: ["pipe", "pipe", "inherit"] });
  connection = createProtocolConnection(new StreamMessageReader(child.stdout!), new StreamMessageWriter(child.stdin!));
  connection.listen();
  const rootUri = pathToFileURL(folder).toString();
  await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri,
    workspaceFolders: [{ uri: rootUri, name: "shop" }],
    capabilities: {},
    initializationOptions: { codeLens: false },
  });
  await connection.sendNotification(InitializedNotification.type, {});
  server = new ServerCommands((command, argument) =>
    connection.sendRequest(ExecuteCommandRequest.type, { command, arguments: [argument] }),
  );
});

after(async () => {
  await connection.sendRequest(ShutdownRequest.type);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await connection.sendNotification(ExitNotification.type);
  assert.equal(await ended, 0);
  rmSync(folder, { recursive: true });
});

/** The index is built in the background: asks again until a search finds something. */
async function searchIndexed(query: string): Promise<SearchResult> {
  for (;;) {
    const result = await server.search(query, 5);
    if (result.hits.length) {
      return result;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function first(result: SearchResult): Hit {
  const [hit] = result.hits;
  assert.ok(hit);
  return hit;
}

test("a search lists hits that can be opened", async () => {
  const result = await searchIndexed("where is the shopping cart total computed");
  const hit = first(result);
  assert.ok(result.hits.length <= 5);
  assert.ok(hit.uri.startsWith(pathToFileURL(folder).toString()));
  assert.ok(hit.uri.endsWith(hit.path));
  assert.ok(hit.range.end.line >= hit.range.start.line);
});

test("a hit is shown with its name, place, reason and code", async () => {
  const hit = first(await searchIndexed("where is the shopping cart total computed"));
  assert.equal(hitLabel(hit), hit.qualified_name);
  assert.equal(hitDescription(hit), `${hit.path}:${hit.range.start.line + 1} · ${hit.reason}`);
  assert.ok(hit.reason);
  assert.ok(hitTooltip(hit).includes(hit.signature.split("\n")[0] ?? "nothing"));
  assert.match(hitIcon(hit.kind), /^(symbol-|file)/);
});

test("code with fences cannot end the tooltip's fence", () => {
  const range = { start: { line: 2, character: 0 }, end: { line: 2, character: 0 } };
  const place = { uri: "", path: "a/b.md", range };
  const hit = { ...place, kind: "section", qualified_name: "", signature: "", score: 1, reason: "" };
  const fenced = { ...hit, snippet: [{ text: "```` text" }] };
  assert.ok(hitTooltip(fenced).endsWith("\n`````"));
  assert.equal(hitLabel(fenced), "b.md");
  assert.equal(hitDescription(fenced), "a/b.md:3");
});

test("a hit is explained", async () => {
  const query = "where is the shopping cart total computed";
  const hit = first(await searchIndexed(query));
  assert.ok((await server.explain(query, hit)).includes(hit.qualified_name));
});

test("a selection gets the code around it", async () => {
  const hit = first(await searchIndexed("where is the shopping cart total computed"));
  assert.ok((await server.context(hit.uri, hit.range)).includes(hit.qualified_name));
});

test("code outside of the workspace has no context", async () => {
  const range = { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } };
  await assert.rejects(server.context("untitled:Untitled-1", range), /index/);
});

test("a command without its argument is refused with the reason", async () => {
  await assert.rejects(server.search(undefined as unknown as string, 5), /query/);
});
