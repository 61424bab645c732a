/** What single tests take from the registry, once: who only builds Heddle needs none of it. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Folder of the cache in which these packages (`NAME@VERSION`) are installed. Throws when the registry has them not. */
function installed(...packages: readonly string[]): string {
  const name = packages.join('+').replaceAll('/', '-');
  const folder = join(homedir(), '.cache/heddle', name);
  if (!existsSync(folder)) {
    const made = `${folder}.${process.pid}`;
    mkdirSync(made, { recursive: true });
    execFileSync('npm', [
      'install',
      '--prefix',
      made,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      ...packages,
    ]);
    try {
      renameSync(made, folder);
    } catch {
      rmSync(made, { recursive: true }); // another test was first
    }
  }
  return join(folder, 'node_modules');
}

/** The oldest Node.js that packages of ours run on. */
export const node22 = (): string =>
  join(installed(`node-linux-${process.arch}@22.23.3`), `node-linux-${process.arch}`, 'bin/node');

/** What says whether a packed package can be imported by others, and its types be found. */
export function packageLinters(): { readonly publint: string; readonly attw: string } {
  const folder = installed('publint@0.3.25', '@arethetypeswrong/cli@0.18.5');
  return { publint: join(folder, '.bin/publint'), attw: join(folder, '.bin/attw') };
}

/** What writes down the public interface of a package from its declarations. */
export const apiExtractor = (): string =>
  join(installed('@microsoft/api-extractor@7.60.1'), '.bin/api-extractor');
