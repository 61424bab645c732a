/** The oldest Node.js that packages of ours run on. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const PACKAGE = `node-linux-${process.arch}@22.23.3`;

/** Its program, from the registry where it is not in the cache. */
export function node22(): string {
  const folder = join(homedir(), '.cache/heddle', PACKAGE.replace('@', '-'));
  const program = join(folder, 'node_modules', `node-linux-${process.arch}`, 'bin/node');
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    execFileSync('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', PACKAGE]);
  }
  return program;
}
