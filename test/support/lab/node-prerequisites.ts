/** Keys of `external_ids` that docs/install.md asks whoever sets up a node to set: the lab's nodes have these. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { labScripts } from '../../../src/lab/paths.ts';

export const nodePrerequisites: readonly string[] = readFileSync(
  join(labScripts, 'guest/node-prerequisites'),
  'utf8',
)
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split(/\s/, 1)[0] ?? '');
