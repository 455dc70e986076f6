// Bundles the extension into one file, and its tests into another. VS Code brings the module `vscode`.
import { build } from "esbuild";

const shared = { bundle: true, platform: "node", target: "node20", format: "cjs", sourcemap: "linked", logLevel: "warning" };

await build({ ...shared, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", external: ["vscode"], sourcemap: false });
await build({ ...shared, entryPoints: ["test/server.test.ts"], outdir: "dist/test" });
