/** Makes folders, with an error where none can be. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** A folder with those above it. `recursive` of node:fs never ends where none can be made, as in /proc, and the process then heeds no signal. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(path)) throw error;
  }
}
