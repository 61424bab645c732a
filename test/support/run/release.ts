/** Another version of Heddle, from this repository's history, to be run beside this one. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../../../src/lab/paths.ts';

/** What git says; nothing where it fails. */
const git = (...words: readonly string[]): string =>
  spawnSync('git', ['-C', checkout, ...words])
    .stdout.toString()
    .trim();

/** The last release of the changelog. */
export const RELEASE =
  /^## (\d+\.\d+\.\d+)/m.exec(readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8'))?.[1] ?? '';

/**
 * The commit of the last release: that of its tag, else the one that named it; undefined where the history here has neither, as in a shallow clone.
 * `HEDDLE_TEST_RELEASE` names another one.
 */
export function releaseCommit(): string | undefined {
  const found = [
    git('rev-parse', '--quiet', '--verify', `${process.env['HEDDLE_TEST_RELEASE'] ?? ''}^{commit}`),
    git('rev-parse', '--quiet', '--verify', `v${RELEASE}^{commit}`),
    ...git('log', '--reverse', '--format=%H', `-S## ${RELEASE} `, '--', 'CHANGELOG.md').split('\n'),
  ].find((commit) => commit !== '');
  // A shallow clone ends with a commit that names everything.
  return found === undefined || git('rev-parse', '--quiet', '--verify', `${found}^`) === ''
    ? undefined
    : found;
}

/** Folder below this checkout with the sources of a commit and what they need, made once. */
export function releaseFolder(commit: string): string {
  const folder = join(checkout, '.heddle/releases', commit);
  if (existsSync(folder)) return folder;
  const made = `${folder}.${process.pid}`;
  mkdirSync(made, { recursive: true });
  const sources = execFileSync('git', ['-C', checkout, 'archive', commit], {
    maxBuffer: 1 << 29,
  });
  execFileSync('tar', ['-x', '-C', made], { input: sources });
  if (git('diff', '--stat', commit, '--', 'package-lock.json') === '')
    // Links to the packages of this repository lead into their own version.
    cpSync(join(checkout, 'node_modules'), join(made, 'node_modules'), {
      recursive: true,
      verbatimSymlinks: true,
    });
  else execFileSync('npm', ['ci', '--prefix', made, '--no-audit', '--no-fund']);
  try {
    renameSync(made, folder);
  } catch {
    rmSync(made, { recursive: true }); // another test was first
  }
  return folder;
}
