/** The image of another version of Heddle: that of this one, with the other's program in its place. Base images and OVN are the same in both. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** What deploy/Dockerfile takes of a checkout. */
const TAKEN = ['dist', 'schemas', 'deploy/run-ovsdb', 'package.json', 'LICENSE'];
/** Of a layer: nothing of the layers below is in this folder. */
const OPAQUE = '.wh..wh..opq';

interface Manifest {
  readonly Config: string;
  readonly RepoTags: readonly string[];
  readonly Layers: readonly string[];
}
interface Config {
  readonly rootfs: { readonly diff_ids: readonly string[] };
  readonly history: readonly object[];
}

const hashOf = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex');

/**
 * Adds an image to an archive that `saveImage` made of this version's, under a name of its own: with a second tag, and one layer more.
 * `sources` are those of the other version, with what they need to be compiled.
 */
export function addRelease(archive: string, name: string, sources: string): void {
  execFileSync(process.execPath, ['build.ts'], { cwd: sources });
  const folder = mkdtempSync(join(tmpdir(), 'heddle-release-'));
  try {
    const app = join(folder, 'root/app');
    for (const path of TAKEN) {
      mkdirSync(dirname(join(app, path)), { recursive: true });
      cpSync(join(sources, path), join(app, path), { recursive: true });
    }
    writeFileSync(join(app, OPAQUE), '');
    const tar = (...words: readonly string[]): Buffer =>
      execFileSync('tar', words, { cwd: folder, maxBuffer: 1 << 28 });
    const layer = tar('--owner=0', '--group=0', '-C', 'root', '-cf', '-', 'app');
    const layerName = `${hashOf(layer)}.tar`;
    writeFileSync(join(folder, layerName), layer);
    const read = (path: string): unknown =>
      JSON.parse(tar('-xOf', archive, path).toString()) as unknown;
    const [own] = read('manifest.json') as Manifest[];
    if (own === undefined) throw new Error(`${archive} has no image`);
    const config = read(own.Config) as Config;
    const text = JSON.stringify({
      ...config,
      rootfs: {
        ...config.rootfs,
        diff_ids: [...config.rootfs.diff_ids, `sha256:${hashOf(layer)}`],
      },
      history: [...config.history, { created_by: `the program of ${name}` }],
    });
    const configName = `${hashOf(text)}.json`;
    writeFileSync(join(folder, configName), text);
    const other = { Config: configName, RepoTags: [name], Layers: [...own.Layers, layerName] };
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify([own, other]));
    // Whoever reads an archive takes the last file of a name.
    tar('--append', '-f', archive, layerName, configName, 'manifest.json');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
