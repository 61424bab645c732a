/**
 * Where an object's record lives below the state directory's `objects` folder:
 * `<plural>[.<group>]/[<namespace>/]<name>.json`, e.g. `userdefinednetworks.k8s.ovn.org/tenant-a/blue.json`.
 *
 * Names come from users: what is not a lower-case letter, a digit, `-`, `_` or an inner `.` is written as `%XX` (so no name
 * leaves its folder or meets another one on a file system that ignores case), and a long one is cut and gets a digest.
 */
import { createHash } from 'node:crypto';
import type { ResourceKind } from '../../api/objects.ts';
import { groupOf } from './object-record.ts';

/** File names may have 255 bytes; the rest is for `.json` and the names of temporary files. */
const LONGEST = 200;

function encode(name: string): string {
  if (name === '') return '%';
  const safe = [...Buffer.from(name)]
    .map((byte, index) => {
      const character = String.fromCharCode(byte);
      return /[a-z0-9_-]/.test(character) || (character === '.' && index > 0)
        ? character
        : `%${byte.toString(16).padStart(2, '0')}`;
    })
    .join('');
  if (safe.length <= LONGEST) return safe;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 32);
  return `${safe.slice(0, LONGEST - 33)}~${digest}`;
}

export function recordPath(
  { apiVersion, plural, namespaced }: Pick<ResourceKind, 'apiVersion' | 'plural' | 'namespaced'>,
  namespace: string,
  name: string,
): string {
  const group = groupOf(apiVersion);
  const folder = encode(group === '' ? plural : `${plural}.${group}`);
  return [folder, ...(namespaced ? [encode(namespace)] : []), `${encode(name)}.json`].join('/');
}

/** File name (without folder) of a lease or another thing called `name`. */
export const fileNameOf = (name: string, extension: string): string =>
  `${encode(name)}${extension}`;
