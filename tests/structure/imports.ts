/**
 * Which folder of `src/` may import which, and a reader of who does.
 *
 * @module
 */

/** One import of one file. */
export interface Import {
  /** The importing file, from the project's folder: `src/hub/hub.ts`. */
  readonly from: string;
  /** The imported file, from the project's folder, or a specifier such as `node:http`. */
  readonly to: string;
  /** Whether it vanishes when types do. */
  readonly typeOnly: boolean;
}

/** What one folder may import. */
interface Rule {
  /** Other folders. */
  readonly folders: readonly string[];
  /** Folders of which it may import types. */
  readonly types?: readonly string[];
  /** What it may import from outside; without it nothing at all. */
  readonly foreign?: RegExp;
}

const CORE = ["hub", "wire", "errors"];
const INTERFACES = ["journal", "relay", "tickets"];

/**
 * The direction of imports, as the architecture has it. A folder may import itself, and what its
 * rule names. A folder without a rule is refused: whoever adds one says here what it may know.
 */
const RULES: Readonly<Record<string, Rule>> = {
  errors: { folders: [] },
  wire: { folders: ["errors"] },
  hub: { folders: ["wire", "errors"], types: ["journal", "relay"] },
  client: { folders: ["wire", "errors"] },
  consumer: { folders: ["wire", "errors"] },
  // React itself is handed in, and typed by what is used of it.
  react: { folders: ["client", "wire", "errors"] },
  journal: { folders: ["wire", "errors"] },
  relay: { folders: ["wire", "errors"] },
  tickets: { folders: ["wire", "errors"] },
  cluster: { folders: [...CORE, ...INTERFACES] },
  adapters: { folders: [...CORE, ...INTERFACES, "cluster"], foreign: /^(?:node|cloudflare):/ },
  service: { folders: [...CORE, ...INTERFACES, "cluster"], foreign: /^hono(?:\/|$)/ },
  testing: { folders: [...CORE, ...INTERFACES, "cluster", "adapters"], foreign: /^node:/ },
};

/**
 * What breaks the direction.
 *
 * @param imports The import graph.
 * @returns One sentence for each import that may not be.
 */
export function violations(imports: readonly Import[]): readonly string[] {
  return imports.flatMap(({ from, to, typeOnly }) => {
    const source = folderOf(from);
    const rule = RULES[source];
    if (rule === undefined) return [`${from}: there is no rule for src/${source}`];
    if (isForeign(to)) {
      return rule.foreign?.test(to) ? [] : [`${from} imports ${to}, which is not the project's`];
    }
    if (!to.startsWith("src/")) return [`${from} imports ${to}, which is outside of src`];
    const target = folderOf(to);
    if (target === source || rule.folders.includes(target)) return [];
    if (typeOnly && rule.types?.includes(target)) return [];
    return [`${from} imports ${to}: ${source} may not know ${target}`];
  });
}

/** `src/hub/hub.ts` → `hub`; `src/errors.ts` → `errors`. */
function folderOf(file: string): string {
  return file.split("/")[1]?.replace(/\.ts$/, "") ?? "";
}

function isForeign(to: string): boolean {
  return /^[a-z]+:/.test(to) || !/\.[a-z]+$/.test(to);
}

/** What is read of `deno info --json`. */
interface Info {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly specifier: string;
      readonly code?: { readonly specifier?: string };
      readonly type?: { readonly specifier?: string };
    }[];
  }[];
}

/**
 * Reads the import graph of some files, and of all that they import, as Deno sees it: comments and
 * strings cannot mislead it.
 *
 * @param root The project's folder.
 * @param files The files, from that folder.
 * @returns Each import of each file below that folder.
 * @throws {Error} When Deno could not read them; with what it said.
 */
export async function readImports(root: URL, files: readonly string[]): Promise<readonly Import[]> {
  const entry = new URL(`.cache/imports-${crypto.randomUUID()}.ts`, root);
  await Deno.mkdir(new URL(".", entry), { recursive: true });
  await Deno.writeTextFile(entry, files.map((file) => `import "../${file}";\n`).join(""));
  try {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", entry.href],
      cwd: root,
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    // Deno's own output; a change of its shape fails the tests of this reader.
    const info = JSON.parse(new TextDecoder().decode(stdout)) as Info;
    return info.modules.filter((module) => module.specifier !== entry.href).flatMap((module) =>
      (module.dependencies ?? []).map((dependency) => ({
        from: within(root, module.specifier),
        to: within(
          root,
          isRelative(dependency.specifier)
            ? (dependency.code ?? dependency.type)?.specifier ?? dependency.specifier
            : dependency.specifier,
        ),
        typeOnly: dependency.code === undefined,
      }))
    );
  } finally {
    await Deno.remove(entry);
  }
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith(".") || specifier.startsWith("/");
}

function within(root: URL, specifier: string): string {
  return specifier.startsWith(root.href) ? specifier.slice(root.href.length) : specifier;
}
